package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default sets every field that is unset to its default.
func (f *File) Default() {
	f.APIVersion, f.Kind = APIVersion, Kind
	setString(&f.Listen, "127.0.0.1:8443")
	setString(&f.Admin.Listen, "127.0.0.1:9443")
	if loopback(f.Admin.Listen) {
		setString(&f.Admin.Access, AccessOpen)
	}
	setString(&f.Admin.Access, AccessAuthorized)
	setString(&f.TLS.CertDir, "sluice-certs")
	setString(&f.Compatibility, Extended)
	setString(&f.Log.Level, "info")
	setString(&f.Log.Format, "json")
	setDuration(&f.Authentication.TokenTTL, 10*time.Second)
	if f.Authentication.Tokens == nil {
		tokens := true
		f.Authentication.Tokens = &tokens
	}
	if f.Authentication.RejectedTokens == 0 {
		f.Authentication.RejectedTokens = 10
	}
	if f.Authentication.ReviewsInFlight == 0 {
		f.Authentication.ReviewsInFlight = 64
	}
	setString(&f.Authentication.Callers, CallersAll)
	f.Authentication.FrontProxy.setDefaults()
	setDuration(&f.Authorization.AllowTTL, 10*time.Second)
	setDuration(&f.Authorization.DenyTTL, 5*time.Second)
	setDuration(&f.Authorization.WatchRecheck, 30*time.Second)
	setDuration(&f.Cache.HistoryAge, 5*time.Minute)
	if f.Cache.HistoryBytes == 0 {
		f.Cache.HistoryBytes = 64 << 20
	}
	setDuration(&f.Cache.Idle, time.Hour)
	setDuration(&f.Cache.CheckEvery, 5*time.Minute)
	if f.Cache.Proofs.CorePercent == 0 {
		f.Cache.Proofs.CorePercent = 5
	}
	if f.Cache.Proofs.BytesPerSecond == 0 {
		f.Cache.Proofs.BytesPerSecond = 4 << 20
	}
	if f.Cache.MaxResources == 0 {
		f.Cache.MaxResources = 500
	}
	setInt(&f.Cache.MaxResourcesPerUser, 250)
	setInt(&f.Cache.MaxResourcesPerPartialReader, 25)
	if f.Cache.EncodedBytes == nil {
		encoded := int64(96 << 20)
		f.Cache.EncodedBytes = &encoded
	}
	if f.Cache.Exclude == nil {
		// The apiserver has no watch cache for events, and so sends no bookmarks.
		f.Cache.Exclude = []string{"events", "events.events.k8s.io"}
	}
	setInt(&f.Audit.MaxSize, 100)
	setInt(&f.Audit.MaxBackups, 10)
	setInt(&f.Audit.MaxAge, 30)
	f.Limits.setDefaults()
	setDuration(&f.Shutdown.Grace, 10*time.Second)
}

// setDefaults sets the headers that the aggregator of kube-apiserver uses.
func (p *FrontProxy) setDefaults() {
	for field, header := range map[*[]string]string{
		&p.UserHeaders: "X-Remote-User", &p.UIDHeaders: "X-Remote-Uid", &p.GroupHeaders: "X-Remote-Group", &p.ExtraPrefixes: "X-Remote-Extra-",
	} {
		if *field == nil {
			*field = []string{header}
		}
	}
}

func setString(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func setInt(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

func setDuration(field *metav1.Duration, value time.Duration) {
	if field.Duration == 0 {
		field.Duration = value
	}
}
