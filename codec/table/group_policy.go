package table

var policyGroup = group{"policy", []kind{
	// The limits of a budget are numbers or percentages.
	{"PodDisruptionBudget", versions("v1"), newColumns(
		nameColumn,
		text("Min Available", "The minimum number of pods that must be available.", strOr("N/A", "spec", "minAvailable")),
		text("Max Unavailable", "The maximum number of pods that may be unavailable.", strOr("N/A", "spec", "maxUnavailable")),
		integer("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time.",
			num("status", "disruptionsAllowed")),
		ageColumn,
	)},
}}
