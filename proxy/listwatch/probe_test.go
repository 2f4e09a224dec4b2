package listwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/test/support/fake"
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
				}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					e.check(t, 10, "a/x")
					if version, err := e.client.Session().Probe(t.Context()); err == nil {
						t.Errorf("probed version %d", version)
					}
					if r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, 0); err == nil {
						t.Errorf("called the roll at version %d", r.Version)
					}
					e.CheckPlayed(t)
				})
			})
		}
	}
}

// An apiserver copies the keys of all objects for a list with limit=1.
func TestProbeListsOneKey(t *testing.T) {
	const one, ofDefault = "metadata.name=sluice-probe", "metadata.name=sluice-probe,metadata.namespace=default"
	for _, row := range []struct {
		kind, apiVersion string
		namespaced       bool
		want             string
	}{
		{"ConfigMap", "v1", true, ofDefault}, {"Node", "v1", false, one},
		{"PodCertificateRequest", "certificates.k8s.io/v1", true, one}, // has no selector of namespaces
	} {
		s := newSession(nil, &discovery.Description{
			Resource: codec.Resource{Namespaced: row.namespaced}, Fields: discovery.BuiltinFields(row.apiVersion, row.kind, nil),
		})
		if q := s.probeQuery(); q.Get("fieldSelector") != row.want || q.Has("resourceVersion") || q.Has("labelSelector") {
			t.Errorf("%s: %s", row.kind, q.Encode())
		}
	}
}

func TestSecondWatchReportsVersionsUntilTheFirstFault(t *testing.T) {
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
				steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}, {"metadata watch", tt.respond}}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					var reported []string
					report := func(kind string) func(uint64) {
						return func(v uint64) { reported = append(reported, fmt.Sprint(kind, v)) }
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := e.client.Session().SecondWatch(ctx, 10, report("e"), report("b")); err == nil || ctx.Err() != nil {
						t.Errorf("second watch ended with %v", err)
					}
					if got := strings.Join(reported, " "); got != tt.want {
						t.Errorf("reported %q, want %q", got, tt.want)
					}
				})
			})
		}
	}
}

func TestChangesAreCompleteOrUnknown(t *testing.T) {
	const unknown, expired = "unknown", "expired"
	for name, d := range fake.Encodings {
		for _, tt := range []struct {
			name    string
			respond http.HandlerFunc
			want    string
		}{
			{"nothing", d.Ended(d.Bookmark("20")), ""},
			{"some, and a bookmark", d.Ended(d.Added("a/x@11"), d.Deleted("b/y@12"), d.Bookmark("25")), "a/x@11 b/y@12"},
			{"some, and a later event", d.Ended(d.Added("a/x@11"), d.Added("a/y@21")), "a/x@11"},
			{"at the last version, and a bookmark there", d.Ended(d.Deleted("a/x@20"), d.Bookmark("20")), unknown}, // there may be another
			{"two at the last version", d.Ended(d.Deleted("a/x@20"), d.Bookmark("20"), d.Deleted("a/y@20"), d.Bookmark("21")), "a/x@20 a/y@20"},
			{"as many as are wanted, and another", d.Ended(d.Added("a/x@11"), d.Added("a/y@12"), d.Added("a/z@13"), d.Bookmark("25")), expired},
			{"an early bookmark", d.Ended(d.Bookmark("19")), unknown},
			{"no bookmark", d.Ended(d.Added("a/x@11")), unknown},
			{"expired", fake.Refuse(http.StatusGone), expired},
			{"expired, as of a watch cache", d.Ended(d.Error(http.StatusGone), d.Bookmark("25")), expired},
			{"an error", d.Ended(d.Error(http.StatusInternalServerError), d.Bookmark("25")), unknown},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("20"))}, {"metadata watch", tt.respond}}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					changes, err := e.client.Session().Changes(t.Context(), 10, 20, 2)
					var all []string
					for _, c := range changes {
						all = append(all, fmt.Sprintf("%s@%d", c.Key, c.RV))
					}
					got := strings.Join(all, " ")
					switch {
					case errors.Is(err, reflector.ErrExpired):
						got = expired
					case err != nil:
						got = unknown
					}
					if got != tt.want {
						t.Errorf("got %q, %v, want %q", got, err, tt.want)
					}
				})
			})
		}
	}
}

func TestInventoryOfAScopeSelectsItByFields(t *testing.T) {
	s := newSession(nil, &discovery.Description{Fields: discovery.BuiltinFields("v1", "Pod", nil)})
	for scope, want := range map[cache.Scope]string{
		{}:                            "",
		{Namespace: "a"}:              "metadata.namespace=a",
		{Key: "a/x"}:                  "metadata.name=x,metadata.namespace=a",
		{Key: "x"}:                    "metadata.name=x",
		{Indexed: true, Value: "n,1"}: `spec.nodeName=n\,1`,
		{Indexed: true}:               "spec.nodeName=",
	} {
		if got := s.queryOf(scope).Get("fieldSelector"); got != want {
			t.Errorf("%+v: %q, want %q", scope, got, want)
		}
	}
}
