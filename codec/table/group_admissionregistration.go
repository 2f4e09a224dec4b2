package table

var admissionGroup = group{"admissionregistration.k8s.io", []kind{
	{"MutatingWebhookConfiguration", versions("v1"), webhookConfiguration},
	{"ValidatingWebhookConfiguration", versions("v1"), webhookConfiguration},
	{"ValidatingAdmissionPolicy", versions("v1"), newColumns(
		nameColumn,
		integer("Validations", "Validations indicates the number of validation rules defined in this configuration",
			count("spec", "validations")),
		paramKindColumn,
		ageColumn,
	)},
	{"ValidatingAdmissionPolicyBinding", versions("v1"), policyBinding},
	{"MutatingAdmissionPolicy", versions("v1", "v1beta1", "v1alpha1"), newColumns(
		nameColumn,
		integer("Mutations", "Mutation indicates the number of mutations rules defined in this configuration",
			count("spec", "mutations")),
		paramKindColumn,
		ageColumn,
	)},
	{"MutatingAdmissionPolicyBinding", versions("v1", "v1beta1", "v1alpha1"), policyBinding},
}}

var webhookConfiguration = newColumns(
	nameColumn,
	integer("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration", count("webhooks")),
	ageColumn,
)

var policyBinding = newColumns(
	nameColumn,
	text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to", str("spec", "policyName")),
	text("ParamRef", "ParamRef indicates the param resource which sets the configuration param", quoted(paramRef)),
	ageColumn,
)

var paramKindColumn = text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy",
	reference(unset, path("spec", "paramKind"), "apiVersion", "kind"))

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
