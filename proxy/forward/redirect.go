package forward

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/request"
)

// errRedirect refuses a redirect in the apiserver's own words for redirects of aggregated servers.
var errRedirect = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusBadGateway, Reason: metav1.StatusReasonUnknown,
	Message: "the backend attempted to redirect this request, which is not permitted",
}}

// checkRedirect refuses redirects of an upgrade, and those that lead away from the apiserver: a client
// that follows one sends its credentials to a host that somebody else has chosen, such as a pod behind
// the subresource proxy (CVE-2020-8559, CVE-2022-3172). A redirect to the apiserver itself becomes one
// to Sluice.
func (f *Forwarder) checkRedirect(resp *http.Response) error {
	if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	if request.From(resp.Request.Context()).Upgrade {
		return errRedirect
	}
	locations := resp.Header["Location"]
	if len(locations) > 1 {
		return errRedirect // clients differ in which one they follow
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil
	}
	to, err := url.Parse(location)
	if err != nil || to.Opaque != "" || strings.Contains(location, "\\") {
		return errRedirect
	}
	if to.Host == "" && to.Scheme == "" {
		if strings.HasPrefix(location, "//") {
			return errRedirect // ///host: browsers and curl skip the empty host
		}
		return nil
	}
	local, ok := f.upstream.Relative(to)
	if !ok {
		return errRedirect
	}
	resp.Header.Set("Location", local)
	return nil
}
