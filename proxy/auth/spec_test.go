package auth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// An authorizer may allow what is selected: a review of the opposite would show what it denies.
func TestReviewHasTheAttributesAndRequirementsOfTheRequest(t *testing.T) {
	const selectors = "pods?fieldSelector=spec.nodeName!%3Da,status.phase%3Db&labelSelector=app!%3Dc,tier,x+in+(y,z)"
	byName := &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
		{Key: "metadata.name", Operator: metav1.FieldSelectorOpIn, Values: []string{"y"}},
	}}
	for path, want := range map[string]*authorizationv1.ResourceAttributes{
		"/api/v1/pods":                                 {Verb: "list", Version: "v1", Resource: "pods"},
		"/api/v1/namespaces/x/pods":                    {Verb: "list", Version: "v1", Resource: "pods", Namespace: "x"},
		"/api/v1/namespaces/x/pods/y":                  {Verb: "get", Version: "v1", Resource: "pods", Namespace: "x", Name: "y"},
		"/api/v1/namespaces/x/pods?watch=1":            {Verb: "watch", Version: "v1", Resource: "pods", Namespace: "x"},
		"/apis/apps/v1/deployments?watch=true":         {Verb: "watch", Version: "v1", Group: "apps", Resource: "deployments"},
		"/api/v1/pods?fieldSelector=metadata.name%3Dy": {Verb: "list", Version: "v1", Resource: "pods", Name: "y", FieldSelector: byName},
		"/api/v1/watch/namespaces/x/pods":              {Verb: "watch", Version: "v1", Resource: "pods", Namespace: "x"},
		"/api/v1/" + selectors: {
			Verb: "list", Version: "v1", Resource: "pods",
			FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
				{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpNotIn, Values: []string{"a"}},
				{Key: "status.phase", Operator: metav1.FieldSelectorOpIn, Values: []string{"b"}},
			}},
			LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"c"}},
				{Key: "tier", Operator: metav1.LabelSelectorOpExists, Values: []string{}},
				{Key: "x", Operator: metav1.LabelSelectorOpIn, Values: []string{"y", "z"}},
			}},
		},
		"/api/v1/watch/" + selectors: {Verb: "watch", Version: "v1", Resource: "pods"}, // of the deprecated paths the apiserver reads none
	} {
		got := reviewSpec(readAttributes(&user.DefaultInfo{Name: "jane", UID: "1"}, readOf(t, newRequest(path, nil))))
		if diff := cmp.Diff(want, got.ResourceAttributes); diff != "" || got.User != "jane" || got.UID != "1" {
			t.Errorf("%s: %s (%s) %s", path, got.User, got.UID, diff)
		}
	}
}

// The apiserver refuses a review of a requirement without a key.
func TestReviewsLeaveOutRequirementsWithoutAKey(t *testing.T) {
	a := readAttributes(&user.DefaultInfo{Name: "jane"}, readOf(t, newRequest("/api/v1/pods?fieldSelector=%3Dx", nil)))
	if got := reviewSpec(a).ResourceAttributes.FieldSelector; got != nil || reviewsAll(a) {
		t.Errorf("%v, all: %v", got, reviewsAll(a))
	}
}
