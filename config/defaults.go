package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default fills in what is not set.
func (f *File) Default() {
	f.APIVersion, f.Kind = APIVersion, Kind
	text(&f.Listen, "127.0.0.1:8443")
	text(&f.Admin.Listen, "127.0.0.1:9443")
	text(&f.TLS.CertDir, "sluice-certs")
	text(&f.Compatibility, Extended)
	text(&f.Log.Level, "info")
	text(&f.Log.Format, "json")
	duration(&f.Authentication.TokenTTL, 10*time.Second)
	duration(&f.Authorization.AllowTTL, 10*time.Second)
	duration(&f.Authorization.DenyTTL, 5*time.Second)
	duration(&f.Authorization.WatchRecheck, 30*time.Second)
	duration(&f.Cache.HistoryAge, 5*time.Minute)
	if f.Cache.HistoryBytes == 0 {
		f.Cache.HistoryBytes = 64 << 20
	}
	duration(&f.Cache.Idle, time.Hour)
	duration(&f.Cache.CheckEvery, 5*time.Minute)
	if f.Cache.MaxResources == 0 {
		f.Cache.MaxResources = 500
	}
	if f.Cache.EncodedBytes == nil {
		encoded := int64(96 << 20)
		f.Cache.EncodedBytes = &encoded
	}
	if f.Cache.Exclude == nil {
		// Secrets for what they hold; events because the apiserver keeps no
		// watch cache for them, and so gives no bookmarks.
		f.Cache.Exclude = []string{"secrets", "events", "events.events.k8s.io"}
	}
	duration(&f.Shutdown.Grace, 10*time.Second)
}

func text(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func duration(field *metav1.Duration, value time.Duration) {
	if field.Duration == 0 {
		field.Duration = value
	}
}
