package table

import flowcontrol "k8s.io/api/flowcontrol/v1"

var flowControlGroup = group{"flowcontrol.apiserver.k8s.io", []kind{
	{"FlowSchema", versions("v1"), newColumns(
		nameColumn,
		text("PriorityLevel", docOf[flowcontrol.PriorityLevelConfigurationReference]("name"),
			str("spec", "priorityLevelConfiguration", "name")),
		text("MatchingPrecedence", docOf[flowcontrol.FlowSchemaSpec]("matchingPrecedence"), num("spec", "matchingPrecedence")),
		text("DistinguisherMethod", docOf[flowcontrol.FlowSchemaSpec]("distinguisherMethod"),
			strOr(none, "spec", "distinguisherMethod", "type")),
		ageColumn,
		text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", quoted(danglingReference)),
	).with(rules{sorted: true})}, // by precedence and name
	{"PriorityLevelConfiguration", versions("v1"), newColumns(
		nameColumn,
		text("Type", docOf[flowcontrol.PriorityLevelConfigurationSpec]("type"), str("spec", "type")),
		text("NominalConcurrencyShares", docOf[flowcontrol.LimitedPriorityLevelConfiguration]("nominalConcurrencyShares"),
			numIn(limited, "nominalConcurrencyShares")),
		text("Queues", docOf[flowcontrol.QueuingConfiguration]("queues"), numIn(queuing, "queues")),
		text("HandSize", docOf[flowcontrol.QueuingConfiguration]("handSize"), numIn(queuing, "handSize")),
		text("QueueLengthLimit", docOf[flowcontrol.QueuingConfiguration]("queueLengthLimit"),
			numIn(queuing, "queueLengthLimit")),
		ageColumn,
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
