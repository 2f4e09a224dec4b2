package listwatch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/codec"
	"sluice/proxy/listwatch/fake"
)

func TestMalformedMetadataIsAnError(t *testing.T) {
	d := fake.Widgets
	for _, body := range []string{
		"", "{", `{"metadata":{"resourceVersion":"10"},"items":[`, `{"items":[{"metadata":`, "[]", "null", "k8s\x00", "<html>", `{"items":{}}`, "\x00",
	} {
		for _, contentType := range []string{codec.MediaJSON, codec.MediaProtobuf, "text/html"} {
			t.Run(contentType+body, func(t *testing.T) {
				steps := []step{
					{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
					{"metadata", fake.Body(contentType, []byte(body))},
					{"metadata", fake.Body(contentType, []byte(body))},
					{"metadata", fake.Body(contentType, []byte(body))},
				}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					e.check(t, 10, "a/x")
					if err := e.client.Compare(t.Context(), e.store); err == nil {
						t.Error("compared without error")
					}
					if version, err := e.client.Session().Probe(t.Context()); err == nil {
						t.Errorf("probed version %d", version)
					}
					if r, err := e.client.Session().RollCall(t.Context()); err == nil {
						t.Errorf("called the roll at version %d", r.Version)
					}
					e.CheckPlayed(t)
				})
			})
		}
	}
}

func TestRollCallNamesEveryObjectOrFails(t *testing.T) {
	for name, d := range fake.Encodings {
		for _, tt := range []struct {
			name      string
			respond   http.HandlerFunc
			confirmed bool // of a store with a/x@3 and b/x@4
			fails     bool
		}{
			{"equal", d.PageBody("15", "", "a/x@3", "b/x@4"), true, false},
			{"another version", d.PageBody("15", "", "a/x@3", "b/x@5"), false, false},
			{"one less", d.PageBody("15", "", "a/x@3"), false, false},
			{"empty", d.PageBody("15", ""), false, false},
			{"a part", d.PageBody("15", "more", "a/x@3", "b/x@4"), false, true},
			{"not in order", d.PageBody("15", "", "b/x@4", "a/x@3"), false, true},
			{"twice", d.PageBody("15", "", "a/x@3", "a/x@3", "b/x@4"), false, true},
			{"without version of an object", d.PageBody("15", "", "a/x@", "b/x@4"), false, true},
			{"without version", d.PageBody("", "", "a/x@3", "b/x@4"), false, true},
			{"refused", fake.Refuse(http.StatusForbidden), false, true},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				steps := []step{{"watchlist", d.Stream(d.Added("a/x@3"), d.Added("b/x@4"), d.InitialEventsEnd("10"))}, {"metadata", tt.respond}}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					r, err := e.client.Session().RollCall(t.Context())
					if (err != nil) != tt.fails {
						t.Fatalf("roll call returns %v", err)
					}
					if err == nil && e.store.ConfirmState(r) != tt.confirmed {
						t.Errorf("confirmed: %v", !tt.confirmed)
					}
					if want := uint64(15); tt.confirmed && e.store.Snapshot().Version != want {
						t.Errorf("version %d, want %d", e.store.Snapshot().Version, want)
					}
				})
			})
		}
	}
}

func TestProbeWatchReportsVersionsUntilTheFirstFault(t *testing.T) {
	for name, d := range fake.Encodings {
		tests := []struct {
			name    string
			respond http.HandlerFunc
			want    string
		}{
			{"none", d.Ended(d.Added("a/x@11"), d.Deleted("a/x@12"), d.Bookmark("13")), "e11 e12 b13"},
			{"cut", d.Cut(d.Added("a/x@11"), d.Bookmark("13")[:7]), "e11"},
			{"error", d.Ended(d.Error(http.StatusGone), d.Bookmark("13")), ""},
			{"unknown type", d.Ended(d.Added("a/x@11"), d.Event("RENAMED", "a/x@12"), d.Bookmark("13")), "e11"},
			{"no version", d.Ended(d.Added("a/x@"), d.Bookmark("13")), ""},
			{"malformed version", d.Ended(d.Bookmark("13x"), d.Bookmark("13")), ""},
			{"malformed body", fake.Body(d.ContentType(), []byte("<html>")), ""},
			{"unexpected encoding", fake.Body("text/html", d.Bookmark("13")), ""},
			{"refused", fake.Refuse(http.StatusGone), ""},
		}
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}, {"metadata", tt.respond}}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					var reported []string
					report := func(kind string) func(uint64) {
						return func(v uint64) { reported = append(reported, fmt.Sprint(kind, v)) }
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := e.client.Session().ProbeWatch(ctx, 10, report("e"), report("b")); err == nil || ctx.Err() != nil {
						t.Errorf("probe watch ended with %v", err)
					}
					if got := strings.Join(reported, " "); got != tt.want {
						t.Errorf("reported %q, want %q", got, tt.want)
					}
				})
			})
		}
	}
}
