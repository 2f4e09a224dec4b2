package table

var policyGroup = group{"policy", []kind{
	// The limits of a budget are numbers or percentages.
	{"PodDisruptionBudget", versions("v1"), usual(
		text("Min Available", strOr("N/A", "spec", "minAvailable")),
		text("Max Unavailable", strOr("N/A", "spec", "maxUnavailable")),
		integer("Allowed Disruptions", num("status", "disruptionsAllowed")),
	)},
}}
