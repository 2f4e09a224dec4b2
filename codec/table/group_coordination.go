package table

var coordinationGroup = group{"coordination.k8s.io", []kind{
	{"Lease", versions("v1"), newColumns(
		nameColumn,
		text("Holder", str("spec", "holderIdentity")),
		ageColumn,
	)},
	{"LeaseCandidate", versions("v1beta1", "v1alpha2"), newColumns(
		nameColumn,
		text("LeaseName", str("spec", "leaseName")),
		text("BinaryVersion", str("spec", "binaryVersion")),
		text("EmulationVersion", str("spec", "emulationVersion")),
		ageColumn,
	)},
}}
