package response

import (
	"net/http"
	"testing"

	"sluice/codec/splice"
)

func TestAcceptedFollowsTheApiserverForGzip(t *testing.T) {
	for header, want := range map[string]splice.Coding{
		"":                           splice.Identity,
		"gzip":                       splice.Gzip,
		"br,gzip":                    splice.Gzip,
		"deflate, gzip":              splice.Gzip,
		"gzip;q=1.0":                 splice.Identity, // as the apiserver reads it
		"GZIP":                       splice.Identity,
		"*":                          splice.Identity,
		"zstd":                       splice.Zstd,
		"Zstd":                       splice.Zstd,
		"deflate, gzip, br, zstd":    splice.Zstd,
		"zstd;q=0":                   splice.Identity,
		"gzip, zstd;q=0":             splice.Gzip,
		"gzip, zstd;q=0.5":           splice.Gzip,
		"zstd;q=0.5":                 splice.Zstd,
		"zstd ; q=1":                 splice.Zstd,
		"zstd;q=x":                   splice.Identity,
		"zstd;level=3":               splice.Identity,
		"identity;q=1, zstd, *;q=0":  splice.Zstd,
		"gzip;q=0, zstd;q=0.001":     splice.Zstd,
		"zstd;q=NaN":                 splice.Identity,
		"gzip;q=0":                   splice.Identity,
		"zstd;q=0.9, gzip;q=1.0":     splice.Identity,
		"zstd;q=0.9, gzip;q=0.8":     splice.Zstd,
		"identity, zstd;q=0.5":       splice.Identity,
		"identity;q=0.5, zstd;q=0.5": splice.Zstd,
		"br;q=1, zstd;q=0.9":         splice.Zstd,
		"x-gzip, compress, deflate":  splice.Identity,
		"gzip\t, deflate":            splice.Gzip,
		"zstandard, gzips, zstdgzip": splice.Identity,
	} {
		if got := Accepted(http.Header{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	if got := Accepted(http.Header{}); got != splice.Identity {
		t.Errorf("no header: %v", got)
	}
}
