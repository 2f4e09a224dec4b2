package auth

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"sluice/proxy/request"
)

// readAttributes returns the attributes that the apiserver would authorize for a read by u.
func readAttributes(u user.Info, read *request.Read) authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{
		User: u, Verb: read.Verb, ResourceRequest: true, Namespace: read.Namespace, Name: read.RequiredName(),
		APIGroup: read.Group, APIVersion: read.Version, Resource: read.Resource,
	}
	if read.Resource == "namespaces" {
		a.Namespace = read.Name // rights in a namespace can include the Namespace itself; Read names none of another group
	}
	if !read.Legacy {
		a.LabelSelectorRequirements, _ = read.Labels.Requirements()
		a.FieldSelectorRequirements = read.Fields.Requirements()
	}
	return a
}

// reviewSpec returns the SubjectAccessReview of attributes.
func reviewSpec(a authorizer.Attributes) *authorizationv1.SubjectAccessReviewSpec {
	u := a.GetUser()
	spec := &authorizationv1.SubjectAccessReviewSpec{User: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if spec.Extra == nil {
			spec.Extra = make(map[string]authorizationv1.ExtraValue, len(u.GetExtra()))
		}
		spec.Extra[key] = values
	}
	if !a.IsResourceRequest() {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.GetPath(), Verb: a.GetVerb()}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: a.GetNamespace(), Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(),
		Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName(),
	}
	// Selectors that do not parse, of requests that are not reads, are reviewed as none: that is more.
	if byFields, err := a.GetFieldSelector(); err == nil {
		if terms := fieldTerms(byFields); len(terms) > 0 {
			spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: terms}
		}
	}
	if byLabels, err := a.GetLabelSelector(); err == nil {
		if terms := labelTerms(byLabels); len(terms) > 0 {
			spec.ResourceAttributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: terms}
		}
	}
	return spec
}

// reviewsAll reports whether a review has every requirement of the selectors.
func reviewsAll(a authorizer.Attributes) bool {
	byLabels, labelErr := a.GetLabelSelector()
	byFields, fieldErr := a.GetFieldSelector()
	return (labelErr != nil || len(labelTerms(byLabels)) == len(byLabels)) &&
		(fieldErr != nil || len(fieldTerms(byFields)) == len(byFields))
}

// fieldTerms leaves out requirements without a key, which the apiserver refuses to review: the review is then of more.
func fieldTerms(requirements fields.Requirements) (terms []metav1.FieldSelectorRequirement) {
	for _, r := range requirements {
		if r.Field == "" {
			continue
		}
		op := metav1.FieldSelectorOpIn
		if r.Operator == selection.NotEquals {
			op = metav1.FieldSelectorOpNotIn
		}
		terms = append(terms, metav1.FieldSelectorRequirement{Key: r.Field, Operator: op, Values: []string{r.Value}})
	}
	return terms
}

// labelOperators are the operators that reviews support. A review without the requirements of another
// operator is of more than is read.
var labelOperators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals: metav1.LabelSelectorOpIn, selection.DoubleEquals: metav1.LabelSelectorOpIn,
	selection.In:        metav1.LabelSelectorOpIn,
	selection.NotEquals: metav1.LabelSelectorOpNotIn, selection.NotIn: metav1.LabelSelectorOpNotIn,
	selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

func labelTerms(requirements labels.Requirements) (terms []metav1.LabelSelectorRequirement) {
	for _, r := range requirements {
		if op, ok := labelOperators[r.Operator()]; ok {
			terms = append(terms, metav1.LabelSelectorRequirement{Key: r.Key(), Operator: op, Values: r.ValuesUnsorted()})
		}
	}
	return terms
}
