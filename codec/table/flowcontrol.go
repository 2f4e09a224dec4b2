package table

import (
	"bytes"
	"cmp"

	"sluice/codec/json"
)

var flowControlGroup = group{"flowcontrol.apiserver.k8s.io", []kind{
	{"FlowSchema", versions("v1"), flowSchema},
	{"PriorityLevelConfiguration", versions("v1"), priorityLevel},
}}

var flowSchema = func() *Columns {
	c := newColumns(
		nameColumn,
		text("PriorityLevel", priorityReferenceDoc["name"], str("spec", "priorityLevelConfiguration", "name")),
		text("MatchingPrecedence", flowSchemaSpecDoc["matchingPrecedence"], num("spec", "matchingPrecedence")),
		text("DistinguisherMethod", flowSchemaSpecDoc["distinguisherMethod"], strOr(none, "spec", "distinguisherMethod", "type")),
		ageColumn,
		text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", quoted(danglingReference)),
	)
	c.compare = compareFlowSchemas
	return c
}()

// danglingReference is the status of the condition that says so.
func danglingReference(dst []byte, r *row) []byte {
	c := condition(r.status.Get("conditions"), "Dangling")
	if c == nil {
		return append(dst, '?')
	}
	return appendScalar(dst, c.Get("status"))
}

// compareFlowSchemas puts those first that are tried first.
func compareFlowSchemas(a, b json.Value) int {
	precedence := func(v json.Value) int64 { return intOf(v.Get("spec", "matchingPrecedence")) }
	name := func(v json.Value) []byte { return bytesOf(v.Get("metadata", "name")) }
	return cmp.Or(cmp.Compare(precedence(a), precedence(b)), bytes.Compare(name(a), name(b)))
}

var (
	limited = path("spec", "limited")
	queuing = path("spec", "limited", "limitResponse", "queuing")
)

var priorityLevel = newColumns(
	nameColumn,
	text("Type", prioritySpecDoc["type"], str("spec", "type")),
	text("NominalConcurrencyShares", limitedPriorityDoc["nominalConcurrencyShares"], numIn(limited, "nominalConcurrencyShares")),
	text("Queues", queuingDoc["queues"], numIn(queuing, "queues")),
	text("HandSize", queuingDoc["handSize"], numIn(queuing, "handSize")),
	text("QueueLengthLimit", queuingDoc["queueLengthLimit"], numIn(queuing, "queueLengthLimit")),
	ageColumn,
)
