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

func TestAmbiguousDestinationsAreRefused(t *testing.T) {
	for _, in := range []string{
		"", "a", "a:", ":443", "a:0", "a:+443", "a:0443", "a:65536", "a:https", "a:443:443", "::1:443", "[a]:443", "[10.0.0.1]:443",
		"user@a:443", "a:443/", "/a:443", "http://a:443", "a:443?x", "a b:443", "a..b:443", "a..:443", ".:443", "a%2e:443", "[fe80::1%25lo]:443",
		"[fe80::1%lo]:443", "127.1:443", "2130706433:443", "0x7f000001:443", "010.0.0.1:443", "a.0x1:443", "ä:443", "a\x00:443", "a:443\n",
	} {
		if got, err := ParseDestination(in); err == nil {
			t.Errorf("%q is understood as %v", in, got)
		}
	}
}
