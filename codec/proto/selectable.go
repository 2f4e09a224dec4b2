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
var commonFields = []SelectableField{selectable("metadata.name"), selectable("metadata.namespace")}

// kindFields are the labels of the kinds that choose their own, by group/kind.
// Source: wire.md 4.7, that is AddFieldLabelConversionFunc of each group for
// what is accepted and SelectableFields of each registry for the values.
var kindFields = map[string][]SelectableField{
	"/Pod": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		selectable("spec.nodeName"), selectable("spec.restartPolicy"), selectable("spec.schedulerName"), selectable("spec.serviceAccountName"),
		{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Zero: "false"},
		selectable("status.phase"),
		{Label: "status.podIP", Path: "status.podIP", Fallback: "status.podIPs[0].ip"},
		{Label: "status.podIPs"}, // accepted, but no object has it
		selectable("status.nominatedNodeName"),
	},
	"/Node":                  {selectable("metadata.name"), {Label: "spec.unschedulable", Path: "spec.unschedulable", Zero: "false"}},
	"/Namespace":             {selectable("metadata.name"), selectable("status.phase")},
	"/ReplicationController": {selectable("metadata.name"), selectable("metadata.namespace"), {Label: "status.replicas", Path: "status.replicas", Zero: "0"}},
	"/Secret":                {selectable("metadata.name"), selectable("metadata.namespace"), selectable("type")},
	"/Service":               {selectable("metadata.name"), selectable("metadata.namespace"), selectable("spec.clusterIP"), selectable("spec.type")},
	"/Event": {
		selectable("metadata.name"), selectable("metadata.namespace"),
		selectable("involvedObject.kind"), selectable("involvedObject.namespace"), selectable("involvedObject.name"), selectable("involvedObject.uid"),
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

// self is a label that is its own path, empty when there is nothing.
func selectable(path string) SelectableField { return SelectableField{Label: path, Path: path} }

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
