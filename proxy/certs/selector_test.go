package certs

import (
	"crypto/tls"
	"testing"
)

func TestSelectorServesTheFirstCertificateThatCoversTheName(t *testing.T) {
	var s Selector
	for _, hosts := range [][]string{{"default.example"}, {"a.example", "*.wild.example"}, {"a.example", "b.example"}} {
		s.Add(reloader(t, ensure(t, t.TempDir(), hosts...)))
	}
	for name, want := range map[string]int{
		"": 0, "default.example": 0, "unknown.example": 0, "a.example": 1, "x.wild.example": 1, "b.example": 2, "not a name": 0,
	} {
		got, err := s.GetCertificate(&tls.ClientHelloInfo{ServerName: name})
		if err != nil || got != s.reloaders[want].last.Load() {
			t.Errorf("%q is not served certificate %d: %v", name, want, err)
		}
	}
}
