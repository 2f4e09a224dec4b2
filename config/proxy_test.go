package config

import "testing"

func TestDestinationsAreEqualIfTheyLeadToTheSamePlace(t *testing.T) {
	for in, want := range map[string]string{
		"kubernetes.default.svc:443":  "kubernetes.default.svc:443",
		"Kubernetes.Default.SVC.:443": "kubernetes.default.svc:443",
		"10.0.0.1:6443":               "10.0.0.1:6443",
		"[::1]:443":                   "[::1]:443",
		"[0:0::0001]:443":             "[::1]:443",
		"[::ffff:10.0.0.1]:6443":      "10.0.0.1:6443",
	} {
		if got, err := ParseDestination(in); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", in, got, err, want)
		}
	}
}

func TestOtherTextsAreNoDestinations(t *testing.T) {
	for _, in := range []string{"", "a", "a:", ":443", "a:0", "a:+443", "a:65536", "a:https", "a:443:443", "::1:443", "a:443/", "http://a:443", "a:443?x"} {
		if got, err := ParseDestination(in); err == nil {
			t.Errorf("%q is understood as %v", in, got)
		}
	}
}
