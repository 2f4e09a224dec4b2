package proto

import "strings"

// A SelectableField is one label that field selectors may use for a kind, and the path of its
// value, which is the same for Protobuf and JSON.
type SelectableField struct {
	Label    string // the name in a selector: spec.nodeName
	Path     string // JSON names joined with dots, [0] for a first element; empty if the value is always empty
	Fallback string // the path to use if the value at Path is empty
	Zero     string // the value if there is none at Path: "", "false" or "0"
}

// commonFields are the labels of every kind that does not define its own. Cluster-scoped kinds
// accept the namespace too; it is always empty. Source:
// runtime.DefaultMetaV1FieldSelectorConversion.
var commonFields = []SelectableField{selectable("metadata.name"), selectable("metadata.namespace")}

// kindFields are the labels of the kinds that define their own, by group/kind. Source:
// docs/wire.md, section 4.7: AddFieldLabelConversionFunc of each group for the labels,
// SelectableFields of each registry for the values.
var kindFields = map[string][]SelectableField{
	"/Pod": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		selectable("spec.nodeName"), {Label: "spec.host", Path: "spec.nodeName"}, selectable("spec.restartPolicy"), selectable("spec.schedulerName"),
		selectable("spec.serviceAccountName"),
		{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Zero: "false"},
		selectable("status.phase"),
		{Label: "status.podIP", Path: "status.podIP", Fallback: "status.podIPs[0].ip"},
		{Label: "status.podIPs"}, // accepted, but empty for every object
		selectable("status.nominatedNodeName"),
	},
	"/Node": {selectable("metadata.name"),
		{Label: "spec.unschedulable", Path: "spec.unschedulable", Zero: "false"}},
	"/Namespace": {selectable("metadata.name"), selectable("status.phase")},
	"/ReplicationController": {selectable("metadata.name"), selectable("metadata.namespace"),
		{Label: "status.replicas", Path: "status.replicas", Zero: "0"}},
	"/Secret": {selectable("metadata.name"), selectable("metadata.namespace"), selectable("type")},
	"/Service": {selectable("metadata.name"), selectable("metadata.namespace"), selectable("spec.clusterIP"),
		selectable("spec.type")},
	"/Event": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		selectable("involvedObject.kind"), selectable("involvedObject.namespace"), selectable("involvedObject.name"),
		selectable("involvedObject.uid"),
		selectable("involvedObject.apiVersion"), selectable("involvedObject.resourceVersion"), selectable("involvedObject.fieldPath"),
		selectable("reason"), selectable("reportingComponent"),
		{Label: "source", Path: "source.component", Fallback: "reportingComponent"},
		selectable("type"),
	},
	"events.k8s.io/Event": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		selectable("regarding.kind"), selectable("regarding.namespace"), selectable("regarding.name"), selectable("regarding.uid"),
		selectable("regarding.apiVersion"), selectable("regarding.resourceVersion"), selectable("regarding.fieldPath"),
		selectable("reason"), selectable("reportingController"), selectable("type"),
	},
	"certificates.k8s.io/CertificateSigningRequest": {selectable("metadata.name"), selectable("spec.signerName")},
	"certificates.k8s.io/ClusterTrustBundle":        {selectable("metadata.name"), selectable("spec.signerName")},
	"certificates.k8s.io/PodCertificateRequest": {
		selectable("metadata.name"), selectable("spec.signerName"), selectable("spec.podName"), selectable("spec.nodeName"),
	},
	"batch/Job": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		{Label: "status.successful", Path: "status.succeeded", Zero: "0"},
	},
	"resource.k8s.io/ResourceSlice": {selectable("metadata.name"), selectable("spec.nodeName"), selectable("spec.driver")},
}

// selectable returns a label that is its own path and has no zero value.
func selectable(path string) SelectableField { return SelectableField{Label: path, Path: path} }

// SelectableFields returns the labels that field selectors may use for a built-in kind,
// metadata.name first. The caller must not change them.
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
