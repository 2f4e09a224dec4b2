package table

import "time"

var certificatesGroup = group{"certificates.k8s.io", []kind{
	{"CertificateSigningRequest", versions("v1"), newColumns(
		nameColumn,
		ageColumn,
		text("SignerName", filledOr(none, "spec", "signerName")),
		text("Requestor", str("spec", "username")),
		text("RequestedDuration", quoted(requestedDuration)),
		text("Condition", quoted(signingState)),
	)},
	{"ClusterTrustBundle", versions("v1", "v1beta1", "v1alpha1"), newColumns(
		nameColumn,
		text("SignerName", filledOr(none, "spec", "signerName")),
	)},
	{"PodCertificateRequest", versions("v1", "v1beta1"), newColumns(
		nameColumn,
		text("PodName", str("spec", "podName")),
		text("ServiceAccountName", str("spec", "serviceAccountName")),
		text("NodeName", str("spec", "nodeName")),
		text("SignerName", str("spec", "signerName")),
		text("State", quoted(podCertificateState)),
		text("UnverifiedUserAnnotations", labelsCell("spec", "unverifiedUserAnnotations")),
	)},
}}

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
