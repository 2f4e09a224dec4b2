package table

var admissionGroup = group{"admissionregistration.k8s.io", []kind{
	{"MutatingWebhookConfiguration", versions("v1"), webhookConfiguration},
	{"ValidatingWebhookConfiguration", versions("v1"), webhookConfiguration},
	{"ValidatingAdmissionPolicy", versions("v1"), usual(
		integer("Validations", count("spec", "validations")),
		paramKindColumn,
	)},
	{"ValidatingAdmissionPolicyBinding", versions("v1"), policyBinding},
	{"MutatingAdmissionPolicy", versions("v1", "v1beta1", "v1alpha1"), usual(
		integer("Mutations", count("spec", "mutations")),
		paramKindColumn,
	)},
	{"MutatingAdmissionPolicyBinding", versions("v1", "v1beta1", "v1alpha1"), policyBinding},
}}

var webhookConfiguration = usual(integer("Webhooks", count("webhooks")))

var policyBinding = usual(text("PolicyName", str("spec", "policyName")), text("ParamRef", quoted(paramRef)))

var paramKindColumn = text("ParamKind", reference(unset, path("spec", "paramKind"), "apiVersion", "kind"))

// paramRef prints "namespace/name" of the params, with "*" for any namespace, or the selector of
// the params as the String method of its Go type prints it.
func paramRef(dst []byte, r *row) []byte {
	ref := r.spec.Get("paramRef")
	name, selector := ref.Get("name"), ref.Get("selector")
	switch {
	case !empty(name):
		dst = append(appendFilled(dst, ref.Get("namespace"), "*"), '/')
		return appendScalar(dst, name)
	case present(selector):
		return append(dst, readSelector(selector).String()...)
	}
	return append(dst, unset...)
}
