package table

var coordinationGroup = group{"coordination.k8s.io", []kind{
	{"Lease", versions("v1"), usual(text("Holder", str("spec", "holderIdentity")))},
	{"LeaseCandidate", versions("v1beta1", "v1alpha2"), usual(
		text("LeaseName", str("spec", "leaseName")),
		text("BinaryVersion", str("spec", "binaryVersion")),
		text("EmulationVersion", str("spec", "emulationVersion")),
	)},
}}
