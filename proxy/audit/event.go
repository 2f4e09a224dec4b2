package audit

import (
	"maps"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	audit "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
)

const (
	// maxText bounds the request URI and the audit ID, and maxUserAgent the user agent, as at the
	// apiserver: a request may have a megabyte of header.
	maxText      = 10 << 10
	maxUserAgent = 1 << 10
	// truncated ends a text that was cut, as at the apiserver.
	truncated = "...TRUNCATED"
	// maxSourceIPs is how many addresses an event has at most.
	maxSourceIPs = 16
)

// The keys of annotations. Those of the decision are the apiserver's.
const (
	sourceKey   = "sluice/source"
	reasonKey   = "sluice/reason"
	decisionKey = "authorization.k8s.io/decision"
	whyKey      = "authorization.k8s.io/reason"
)

// event returns the event of a request at a stage. status describes the response.
func event(r *http.Request, stage audit.Stage, received time.Time, status *metav1.Status) *audit.Event {
	info := request.From(r.Context())
	e := &audit.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: audit.SchemeGroupVersion.String(), Kind: "Event"},
		Level:    audit.LevelMetadata, AuditID: types.UID(cut(info.AuditID, maxText)), Stage: stage,
		RequestURI: cut(r.URL.RequestURI(), maxText), Verb: info.Verb,
		SourceIPs: sourceIPs(r), UserAgent: cut(r.UserAgent(), maxUserAgent),
		ResponseStatus:           status,
		RequestReceivedTimestamp: metav1.NewMicroTime(received), StageTimestamp: metav1.NewMicroTime(time.Now()),
		Annotations: annotations(info),
	}
	if info.Acting != nil {
		e.User = userInfo(info.Acting)
	}
	if info.Impersonated != nil {
		impersonated := userInfo(info.Impersonated)
		e.ImpersonatedUser = &impersonated
	}
	if info.IsResourceRequest {
		e.ObjectRef = &audit.ObjectReference{
			Namespace: info.Namespace, Name: info.Name, Resource: info.Resource, Subresource: info.Subresource,
			APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		}
	}
	return e
}

func userInfo(u user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}

// annotations name the source of the answer, and the decision about the access with its reason.
func annotations(info *request.Info) map[string]string {
	a := map[string]string{
		sourceKey: info.Outcome.Source, reasonKey: info.Outcome.Reason,
		decisionKey: info.Decision.Verdict, whyKey: info.Decision.Reason,
	}
	maps.DeleteFunc(a, func(key, value string) bool { return value == "" && (key != whyKey || info.Decision.Verdict == "") })
	return a
}

// sourceIPs returns the addresses that the request names and, last, the one that it came from.
func sourceIPs(r *http.Request) []string {
	ips := utilnet.SourceIPs(r)
	if n := len(ips); n > maxSourceIPs {
		ips = append(ips[:maxSourceIPs-1:maxSourceIPs-1], ips[n-1])
	}
	texts := make([]string, len(ips))
	for i, ip := range ips {
		texts[i] = ip.String()
	}
	return texts
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + truncated
}
