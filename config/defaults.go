package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default sets every field that is unset to its default.
func (f *File) Default() {
	f.APIVersion, f.Kind = APIVersion, Kind
	set(&f.Listen, "127.0.0.1:8443")
	set(&f.Admin.Listen, "127.0.0.1:9443")
	if loopback(f.Admin.Listen) {
		set(&f.Admin.Access, AccessOpen)
	}
	set(&f.Admin.Access, AccessAuthorized)
	set(&f.Compatibility, Extended)
	set(&f.Log.Level, "info")
	set(&f.Log.Format, "json")
	set(&f.Log.Requests, RequestsNotable)
	set(&f.Authentication.TokenTTL.Duration, 10*time.Second)
	set(&f.Authentication.Tokens, new(true))
	set(&f.Authentication.ReviewsInFlight, 64)
	set(&f.Authentication.Callers, CallersAll)
	f.Authentication.FrontProxy.setDefaults()
	set(&f.Authorization.AllowTTL.Duration, 10*time.Second)
	set(&f.Authorization.DenyTTL.Duration, 5*time.Second)
	set(&f.Authorization.StaleFor, &metav1.Duration{Duration: 5 * time.Minute})
	set(&f.Authorization.WatchRecheck.Duration, 30*time.Second)
	set(&f.Cache.HistoryAge.Duration, 5*time.Minute)
	set(&f.Cache.HistoryBytes, 64<<20)
	set(&f.Cache.Idle.Duration, time.Hour)
	set(&f.Cache.CheckEvery.Duration, 5*time.Minute)
	set(&f.Cache.Proofs.CorePercent, 5)
	set(&f.Cache.Proofs.BytesPerSecond, 4<<20)
	// A few of the longest answers of a large cluster at a time.
	set(&f.Cache.EncodedBytes, new(int64(96<<20)))
	if f.Cache.Exclude == nil {
		// The apiserver has no watch cache for events, and so sends no bookmarks.
		f.Cache.Exclude = []string{"events", "events.events.k8s.io"}
	}
	set(&f.Audit.MaxSize, 100)
	set(&f.Audit.MaxBackups, 10)
	set(&f.Audit.MaxAge, 30)
	f.Limits.setDefaults()
	set(&f.Shutdown.Grace.Duration, 10*time.Second)
}

// setDefaults sets the headers that the aggregator of kube-apiserver uses.
func (p *FrontProxy) setDefaults() {
	for field, header := range map[*[]string]string{
		&p.UserHeaders: "X-Remote-User", &p.UIDHeaders: "X-Remote-Uid", &p.GroupHeaders: "X-Remote-Group",
		&p.ExtraPrefixes: "X-Remote-Extra-",
	} {
		if *field == nil {
			*field = []string{header}
		}
	}
}

// set sets a field that is unset.
func set[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}
