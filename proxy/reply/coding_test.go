package reply

import (
	"net/http"
	"testing"
)

func TestAccepted(t *testing.T) {
	for header, want := range map[string]Coding{
		"":                           Identity,
		"gzip":                       Gzip,
		"br,gzip":                    Gzip,
		"deflate, gzip":              Gzip,
		"gzip;q=1.0":                 Identity, // as the apiserver reads it
		"GZIP":                       Identity,
		"*":                          Identity,
		"zstd":                       Zstd,
		"Zstd":                       Zstd,
		"deflate, gzip, br, zstd":    Zstd,
		"zstd;q=0":                   Identity,
		"gzip, zstd;q=0":             Gzip,
		"gzip, zstd;q=0.5":           Gzip,
		"zstd;q=0.5":                 Zstd,
		"zstd ; q=1":                 Zstd,
		"zstd;q=x":                   Identity,
		"zstd;level=3":               Identity,
		"identity;q=1, zstd, *;q=0":  Zstd,
		"gzip;q=0, zstd;q=0.001":     Zstd,
		"zstd;q=NaN":                 Identity,
		"x-gzip, compress, deflate":  Identity,
		"gzip\t, deflate":            Identity,
		"zstandard, gzips, zstdgzip": Identity,
	} {
		if got := Accepted(http.Header{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	if got := Accepted(http.Header{}); got != Identity {
		t.Errorf("no header: %v", got)
	}
}
