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
var commonFields = selectable("metadata.name", "metadata.namespace")

// kindFields are the labels of the kinds that define their own, by group/kind. Source:
// docs/wire.md, section 4.7: AddFieldLabelConversionFunc of each group for the labels,
// SelectableFields of each registry for the values.
var kindFields = map[string][]SelectableField{
	"/Pod": append(selectable(
		"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.phase", "status.nominatedNodeName"),
		SelectableField{Label: "spec.host", Path: "spec.nodeName"},
		SelectableField{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Zero: "false"},
		SelectableField{Label: "status.podIP", Path: "status.podIP", Fallback: "status.podIPs[0].ip"},
		SelectableField{Label: "status.podIPs"}, // accepted, but empty for every object
	),
	"/Node": append(selectable("metadata.name"),
		SelectableField{Label: "spec.unschedulable", Path: "spec.unschedulable", Zero: "false"}),
	"/Namespace": selectable("metadata.name", "status.phase"),
	"/ReplicationController": append(selectable("metadata.name", "metadata.namespace"),
		SelectableField{Label: "status.replicas", Path: "status.replicas", Zero: "0"}),
	"/Secret":  selectable("metadata.name", "metadata.namespace", "type"),
	"/Service": selectable("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"),
	"/Event": append(selectable(
		"metadata.name", "metadata.namespace",
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "type"),
		SelectableField{Label: "source", Path: "source.component", Fallback: "reportingComponent"}),
	"events.k8s.io/Event": selectable(
		"metadata.name", "metadata.namespace",
		"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
		"regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath",
		"reason", "reportingController", "type"),
	"certificates.k8s.io/CertificateSigningRequest": selectable("metadata.name", "spec.signerName"),
	"certificates.k8s.io/ClusterTrustBundle":        selectable("metadata.name", "spec.signerName"),
	"certificates.k8s.io/PodCertificateRequest":     selectable("metadata.name", "spec.signerName", "spec.podName", "spec.nodeName"),
	"batch/Job": append(selectable("metadata.name", "metadata.namespace"),
		SelectableField{Label: "status.successful", Path: "status.succeeded", Zero: "0"}),
	"resource.k8s.io/ResourceSlice": selectable("metadata.name", "spec.nodeName", "spec.driver"),
}

// selectable returns labels that are their own paths and have no zero value.
func selectable(paths ...string) (fields []SelectableField) {
	for _, path := range paths {
		fields = append(fields, SelectableField{Label: path, Path: path})
	}
	return fields
}

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
