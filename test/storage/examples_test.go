package storage

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"
)

// notStoredKinds maps the kinds of examples that are in no resource, with their version where others of the name are
// in one, to the reason.
var notStoredKinds = map[string]string{
	"AdmissionReview":          "a request to a webhook",
	"ImageReview":              "a request to a webhook",
	"LocalSubjectAccessReview": "a request that is answered and not stored",
	"SelfSubjectAccessReview":  "a request that is answered and not stored",
	"SelfSubjectReview":        "a request that is answered and not stored",
	"SelfSubjectRulesReview":   "a request that is answered and not stored",
	"SubjectAccessReview":      "a request that is answered and not stored",
	"TokenReview":              "a request that is answered and not stored",
	"Binding":                  "the body of a subresource",
	"DeploymentRollback":       "the body of a subresource",
	"policy.v1.Eviction":       "the body of a subresource",
	"policy.v1beta1.Eviction":  "the body of a subresource",
	"Scale":                    "the body of a subresource",
	"TokenRequest":             "the body of a subresource",
	"CreateOptions":            "parameters of a request",
	"DeleteOptions":            "parameters of a request",
	"GetOptions":               "parameters of a request",
	"ListOptions":              "parameters of a request",
	"NodeProxyOptions":         "parameters of a request",
	"PatchOptions":             "parameters of a request",
	"PodAttachOptions":         "parameters of a request",
	"PodExecOptions":           "parameters of a request",
	"PodLogOptions":            "parameters of a request",
	"PodPortForwardOptions":    "parameters of a request",
	"PodProxyOptions":          "parameters of a request",
	"ServiceProxyOptions":      "parameters of a request",
	"UpdateOptions":            "parameters of a request",
	"APIGroup":                 "discovery",
	"APIGroupDiscovery":        "discovery",
	"APIVersions":              "discovery",
	"ComponentStatus":          "the apiserver computes it",
	"PodStatusResult":          "a response of kubelets",
	"RangeAllocation":          "in etcd, but in no resource",
	"SerializedReference":      "the value of an annotation",
	"Status":                   "a response",
	"WatchEvent":               "a frame of a watch",
}

// TestEveryExampleIsStored expects every example of k8s.io/api in a resource that
// TestResponsesOfStoredObjectsEqualTheApiservers compares.
func TestEveryExampleIsStored(t *testing.T) {
	stored := make(map[string]bool)
	for _, r := range resources(t) {
		for _, gvk := range storedKinds(r) {
			if notStored[r.String()] == "" {
				stored[exampleName(gvk)] = true
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(examples(t), "*.pb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		gvk := strings.TrimSuffix(name, ".pb")
		kind := gvk[strings.LastIndexByte(gvk, '.')+1:]
		if why := cmp.Or(notStoredKinds[gvk], notStoredKinds[kind]); stored[name] != (why == "") {
			t.Errorf("%s: in a resource %t; expected to be in none because: %q", name, stored[name], why)
		}
	}
}
