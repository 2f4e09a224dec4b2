package table

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
	c.sorted = true // by precedence and name
	return c
}()

// danglingReference prints the status of the condition Dangling.
func danglingReference(dst []byte, r *row) []byte {
	c := condition(r.status.Get("conditions"), "Dangling")
	if c == nil {
		return append(dst, '?')
	}
	return appendScalar(dst, c.Get("status"))
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
