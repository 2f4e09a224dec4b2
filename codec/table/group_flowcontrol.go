package table

var flowControlGroup = group{"flowcontrol.apiserver.k8s.io", []kind{
	{"FlowSchema", versions("v1"), newColumns(
		nameColumn,
		text("PriorityLevel", str("spec", "priorityLevelConfiguration", "name")),
		text("MatchingPrecedence", num("spec", "matchingPrecedence")),
		text("DistinguisherMethod", strOr(none, "spec", "distinguisherMethod", "type")),
		ageColumn,
		text("MissingPL", quoted(danglingReference)),
	).with(rules{sorted: true})}, // by precedence and name
	{"PriorityLevelConfiguration", versions("v1"), usual(
		text("Type", str("spec", "type")),
		text("NominalConcurrencyShares", numIn(limited, "nominalConcurrencyShares")),
		text("Queues", numIn(queuing, "queues")),
		text("HandSize", numIn(queuing, "handSize")),
		text("QueueLengthLimit", numIn(queuing, "queueLengthLimit")),
	)},
}}

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
