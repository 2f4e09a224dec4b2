package table

var coordinationGroup = group{"coordination.k8s.io", []kind{
	{"Lease", versions("v1"), lease},
	{"LeaseCandidate", versions("v1beta1", "v1alpha2"), leaseCandidate},
}}

var lease = newColumns(
	nameColumn,
	text("Holder", leaseSpecDoc["holderIdentity"], str("spec", "holderIdentity")),
	ageColumn,
)

var leaseCandidate = newColumns(
	nameColumn,
	text("LeaseName", leaseCandidateSpecDoc["leaseName"], str("spec", "leaseName")),
	text("BinaryVersion", "", str("spec", "binaryVersion")),
	text("EmulationVersion", "", str("spec", "emulationVersion")),
	ageColumn,
)
