package proto

import "strings"

// A Selectable is one label that field selectors may name for a kind, and where
// its value lies in the object. It says the same for objects in JSON.
type SelectableField struct {
	Label    string // as in a selector: spec.nodeName
	Path     string // of names in JSON, by points; [0] is the first element; empty if the value always is
	Fallback string // path to be used when the value at Path is empty
	Zero     string // the value when nothing is there: "", "false" or "0"
}

// fieldAliases are labels that mean another one. Source: core/v1's field label
// conversion.
var fieldAliases = map[[2]string]string{{"v1 Pod", "spec.host"}: "spec.nodeName"}

// commonFields are the labels of every kind that does not choose its own.
// Cluster-scoped kinds accept the namespace too; it is empty for all objects.
// Source: runtime.DefaultMetaV1FieldSelectorConversion.
var commonFields = []SelectableField{self("metadata.name"), self("metadata.namespace")}

// kindFields are the labels of the kinds that choose their own, by group/kind.
// Source: wire.md 4.7, that is AddFieldLabelConversionFunc of each group for
// what is accepted and SelectableFields of each registry for the values.
var kindFields = map[string][]SelectableField{
	"/Pod": {
		self("metadata.name"), self("metadata.namespace"),
		self("spec.nodeName"), self("spec.restartPolicy"), self("spec.schedulerName"), self("spec.serviceAccountName"),
		{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Zero: "false"},
		self("status.phase"),
		{Label: "status.podIP", Path: "status.podIP", Fallback: "status.podIPs[0].ip"},
		{Label: "status.podIPs"}, // accepted, but no object has it
		self("status.nominatedNodeName"),
	},
	"/Node":                  {self("metadata.name"), {Label: "spec.unschedulable", Path: "spec.unschedulable", Zero: "false"}},
	"/Namespace":             {self("metadata.name"), self("status.phase")},
	"/ReplicationController": {self("metadata.name"), self("metadata.namespace"), {Label: "status.replicas", Path: "status.replicas", Zero: "0"}},
	"/Secret":                {self("metadata.name"), self("metadata.namespace"), self("type")},
	"/Service":               {self("metadata.name"), self("metadata.namespace"), self("spec.clusterIP"), self("spec.type")},
	"/Event": {
		self("metadata.name"), self("metadata.namespace"),
		self("involvedObject.kind"), self("involvedObject.namespace"), self("involvedObject.name"), self("involvedObject.uid"),
		self("involvedObject.apiVersion"), self("involvedObject.resourceVersion"), self("involvedObject.fieldPath"),
		self("reason"), self("reportingComponent"),
		{Label: "source", Path: "source.component", Fallback: "reportingComponent"},
		self("type"),
	},
	"events.k8s.io/Event": {
		self("metadata.name"), self("metadata.namespace"),
		self("regarding.kind"), self("regarding.namespace"), self("regarding.name"), self("regarding.uid"),
		self("regarding.apiVersion"), self("regarding.resourceVersion"), self("regarding.fieldPath"),
		self("reason"), self("reportingController"), self("type"),
	},
	"certificates.k8s.io/CertificateSigningRequest": {self("metadata.name"), self("spec.signerName")},
	"certificates.k8s.io/ClusterTrustBundle":        {self("metadata.name"), self("spec.signerName")},
	"certificates.k8s.io/PodCertificateRequest": {
		self("metadata.name"), self("spec.signerName"), self("spec.podName"), self("spec.nodeName"),
	},
	"batch/Job": {
		self("metadata.name"), self("metadata.namespace"),
		{Label: "status.successful", Path: "status.succeeded", Zero: "0"},
	},
	"resource.k8s.io/ResourceSlice": {self("metadata.name"), self("spec.nodeName"), self("spec.driver")},
}

// self is a label that is its own path, empty when there is nothing.
func self(path string) SelectableField { return SelectableField{Label: path, Path: path} }

// SelectableFields are the labels that field selectors may name for a built-in
// kind, metadata.name first. The caller must not change them.
func SelectableFields(apiVersion, kind string) []SelectableField {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	if fields, ok := kindFields[group+"/"+kind]; ok {
		return fields
	}
	return commonFields
}
