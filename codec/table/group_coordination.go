package table

import (
	coordination "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
)

var coordinationGroup = group{"coordination.k8s.io", []kind{
	{"Lease", versions("v1"), newColumns(
		nameColumn,
		text("Holder", docOf[coordination.LeaseSpec]("holderIdentity"), str("spec", "holderIdentity")),
		ageColumn,
	)},
	{"LeaseCandidate", versions("v1beta1", "v1alpha2"), newColumns(
		nameColumn,
		text("LeaseName", docOf[coordinationv1alpha2.LeaseCandidateSpec]("leaseName"), str("spec", "leaseName")),
		text("BinaryVersion", "", str("spec", "binaryVersion")),
		text("EmulationVersion", "", str("spec", "emulationVersion")),
		ageColumn,
	)},
}}
