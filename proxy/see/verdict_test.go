package see

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/proxy/fault"
)

// healthy returns the facts of a Sluice that is well, after a change.
func healthy(change func(*Facts)) *Facts {
	f := &Facts{
		Version: "v1", Requests: 10, Watches: 3, Upstream: Upstream{Address: "https://apiserver:6443", Probed: true},
		Resources: []Resource{
			{Name: "configmaps.v1", Synced: true, Connected: true, HeardSeconds: new(54.0), ProvenSeconds: new(9.0)},
			{Name: "pods.v1", Synced: true, Connected: true, Objects: 10006, HeardSeconds: new(0.4), ProvenSeconds: new(0.4)},
		},
	}
	if change != nil {
		change(f)
	}
	return f
}

// unusable returns the facts of a Sluice whose apiserver it has used before, and cannot use now.
func unusable(err error, change func(*Facts)) *Facts {
	f := healthy(change)
	f.Upstream.Error, f.Upstream.Fault = err.Error(), fault.Of(err, true)
	return f
}

func TestVerdictIsTheMostUrgentState(t *testing.T) {
	pods := func(change func(*Resource)) func(*Facts) { return func(f *Facts) { change(&f.Resources[1]) } }
	for _, tt := range []struct {
		name, state, says string
		facts             *Facts
	}{
		{"well", stateWell, "2 resources are served", healthy(nil)},
		{"stopping", "stopping", "3 watches", healthy(func(f *Facts) { f.Stopping, f.Upstream.Error = true, "refused" })},
		{"starting", "starting", "https://apiserver:6443", healthy(func(f *Facts) { f.Upstream.Probed, f.Upstream.Error, f.Resources = false, "not probed yet", nil })},
		{"in sync before the first check", stateWell, "2 resources are served", healthy(func(f *Facts) { f.Upstream.Probed, f.Upstream.Error = false, "not probed yet" })},
		{"away", stateAway, "no connections, for 42\u00a0s: connection refused", unusable(syscall.ECONNREFUSED, func(f *Facts) {
			f.Upstream.FailingSeconds, f.Resources[1].MismatchedSeconds = 42, new(1.0)
		})},
		{"away for a moment", stateAway, "no connections: connection refused. W", unusable(syscall.ECONNREFUSED, nil)},
		{"another CA", "untrusted", "not valid for Sluice (x509): tls: ", unusable(&tls.CertificateVerificationError{Err: errors.New("unknown")}, nil)},
		{"https for http", "scheme", "the scheme https", unusable(http.ErrSchemeMismatch, nil)},
		{"wrong", stateWrong, "pods.v1 differed", healthy(pods(func(r *Resource) { r.MismatchedSeconds = new(60.0) }))},
		{"overloaded", "overloaded", "14.0 requests a second", healthy(func(f *Facts) { f.RefusedPerSec = 14 })},
		{"few refusals", stateWell, "", healthy(func(f *Facts) { f.RefusedPerSec = 1 })},
		{"unsure", "unsure", "7 reviews have failed", healthy(func(f *Facts) { f.ReviewsFailed = 7 })},
		{"unsure of one", "unsure", "1 review has failed", healthy(func(f *Facts) { f.ReviewsFailed = 1 })},
		{"no proof", stateStalled, "pods.v1 is not known", healthy(pods(func(r *Resource) { r.ProvenSeconds = new(181.0) }))},
		{"quiet", stateWell, "", healthy(pods(func(r *Resource) { r.HeardSeconds, r.ProvenSeconds = new(181.0), new(60.0) }))},
		{"no proof of two", stateStalled, "configmaps.v1, pods.v1: each is not known", healthy(func(f *Facts) {
			f.Resources[0].ProvenSeconds, f.Resources[1].ProvenSeconds = new(181.0), new(181.0)
		})},
		{"a read waited in vain", stateStalled, "pods.v1 is not known", healthy(pods(func(r *Resource) { r.Stalled = true }))},
		{"no watch", stateStalled, "pods.v1", healthy(pods(func(r *Resource) { r.Connected, r.LostSeconds = false, 31 }))},
		{"a watch that is opened again", stateWell, "", healthy(pods(func(r *Resource) { r.Connected, r.LostSeconds = false, 29 }))},
		{"no store for long", stateStalled, "pods.v1", healthy(pods(func(r *Resource) { r.Synced, r.UnsyncedSeconds = false, 31 }))},
		{"a right is missing", "restricted", "pods.v1 may not be listed", healthy(pods(func(r *Resource) {
			r.Synced, r.Forbidden, r.UnsyncedSeconds = false, true, 3600
		}))},
		{"filling", stateFilling, "1 of 2 caches", healthy(pods(func(r *Resource) { r.Synced, r.UnsyncedSeconds = false, 2 }))},
		{"lists pass", "passing", "62\u00a0% of the lists", healthy(func(f *Facts) { f.Reads.ListsPassed, f.PassedBecause = new(0.62), "unknown-caller" })},
		{"half of them", stateWell, "", healthy(func(f *Facts) { f.Reads.ListsPassed = new(0.5) })},
		{"watches pass", "passing", "25\u00a0% of the watches", healthy(func(f *Facts) { f.PassedWatches = 1 })},
		{"outdated", "outdated", "older configuration", healthy(func(f *Facts) { f.ConfigOutdated = true })},
		{"lossy", "lossy", "12 events", healthy(func(f *Facts) { f.AuditLost = 12 })},
		{"slow clock", "skewed", "90\u00a0s behind", healthy(func(f *Facts) { f.ClockSeconds = 90 })},
		{"fast clock", "skewed", "90\u00a0s ahead of", healthy(func(f *Facts) { f.ClockSeconds = -90 })},
		{"a clock within a minute", stateWell, "", healthy(func(f *Facts) { f.ClockSeconds = 59 })},
		{"idle", stateIdle, "unused for 6\u00a0min", healthy(func(f *Facts) { f.Watches, f.IdleSeconds = 0, 360 })},
		{"never used", stateIdle, "Nobody has read anything", healthy(func(f *Facts) { f.Watches, f.Requests = 0, 0 })},
		{"writes only", stateWell, "No resource is cached", healthy(func(f *Facts) { f.Resources = nil })},
		{"quiet watches", stateWell, "", healthy(func(f *Facts) { f.IdleSeconds = 3600 })},
	} {
		v := Judge(tt.facts)
		if v.State != tt.state || !strings.Contains(v.Sentence, tt.says) || v.Sentence == "" {
			t.Errorf("%s: %s: %s", tt.name, v.State, v.Sentence)
		}
		if needs := !v.Well(); needs && v.Do == "" {
			t.Errorf("%s: nothing to do about it", tt.name)
		}
	}
	for _, state := range States() {
		if !slices.Contains(fault.States, state) && !strings.Contains("stopping starting wrong overloaded unsure restricted stalled filling passing outdated lossy skewed idle well", state) {
			t.Errorf("state %s has no test", state)
		}
	}
}
