package table

import "time"

var certificatesGroup = group{"certificates.k8s.io", []kind{
	{"CertificateSigningRequest", versions("v1"), signingRequest},
	{"ClusterTrustBundle", versions("v1", "v1beta1", "v1alpha1"), trustBundle},
	{"PodCertificateRequest", versions("v1", "v1beta1"), podCertificateRequest},
}}

var signingRequest = newColumns(
	nameColumn,
	ageColumn,
	text("SignerName", csrSpecDoc["signerName"], filledOr(none, "spec", "signerName")),
	text("Requestor", csrSpecDoc["request"], str("spec", "username")),
	text("RequestedDuration", csrSpecDoc["expirationSeconds"], quoted(requestedDuration)),
	text("Condition", csrStatusDoc["conditions"], quoted(signingState)),
)

func requestedDuration(dst []byte, r *row) []byte {
	seconds := r.spec.Get("expirationSeconds")
	if !present(seconds) {
		return append(dst, none...)
	}
	return appendDuration(dst, time.Duration(intOf(seconds))*time.Second)
}

// signingState prints the decision, then whether signing failed, then whether there is a
// certificate. A condition counts with any status.
func signingState(dst []byte, r *row) []byte {
	conditions := r.status.Get("conditions")
	switch {
	case condition(conditions, "Denied") != nil:
		dst = append(dst, "Denied"...)
	case condition(conditions, "Approved") != nil:
		dst = append(dst, "Approved"...)
	default:
		dst = append(dst, "Pending"...)
	}
	if condition(conditions, "Failed") != nil {
		dst = append(dst, ",Failed"...)
	}
	if !empty(r.status.Get("certificate")) {
		dst = append(dst, ",Issued"...)
	}
	return dst
}

var trustBundle = newColumns(
	nameColumn,
	text("SignerName", trustBundleSpecDoc["signerName"], filledOr(none, "spec", "signerName")),
)

var podCertificateRequest = newColumns(
	nameColumn,
	text("PodName", podCertificateSpecDoc["podName"], str("spec", "podName")),
	text("ServiceAccountName", podCertificateSpecDoc["serviceAccountName"], str("spec", "serviceAccountName")),
	text("NodeName", podCertificateSpecDoc["nodeName"], str("spec", "nodeName")),
	text("SignerName", podCertificateSpecDoc["signerName"], str("spec", "signerName")),
	text("State", "Is the request Pending, Issued, Denied, or Failed?", quoted(podCertificateState)),
	text("UnverifiedUserAnnotations", podCertificateSpecDoc["unverifiedUserAnnotations"],
		labelsCell("spec", "unverifiedUserAnnotations")),
)

// podCertificateState prints the last condition that is a final state.
func podCertificateState(dst []byte, r *row) []byte {
	state := []byte("Pending")
	for _, c := range r.status.Get("conditions").Elements {
		switch t := bytesOf(c.Get("type")); string(t) {
		case "Issued", "Denied", "Failed":
			state = t
		}
	}
	return append(dst, state...)
}
