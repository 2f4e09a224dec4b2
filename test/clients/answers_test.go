package clients

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// answers records the heads of what Sluice answers to a client's reads.
type answers struct {
	mu  sync.Mutex
	all []answer
}

type answer struct {
	url       string
	code      int
	mediaType string
	source    string // of Sluice
}

// record returns a configuration whose reads are recorded.
func record(cfg *rest.Config) (*rest.Config, *answers) {
	a := &answers{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, a} })
	return cfg, a
}

type recorder struct {
	next    http.RoundTripper
	answers *answers
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || req.Method != http.MethodGet {
		return resp, err
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = err.Error()
	}
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	r.answers.all = append(r.answers.all, answer{req.URL.RequestURI(), resp.StatusCode, mediaType, resp.Header.Get("Sluice-Source")})
	return resp, nil
}

// allFrom checks that every answer came from there - "cache" or "upstream" - and
// in one of these media types, and that there were some.
func (a *answers) allFrom(t *testing.T, source string, mediaTypes ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if !strings.HasPrefix(one.source, source) || !slices.Contains(mediaTypes, one.mediaType) {
			t.Errorf("%s: %d %s from %q, want %q from %s", one.url, one.code, one.mediaType, one.source, mediaTypes, source)
		}
	}
	if len(a.all) == 0 {
		t.Error("nothing was asked")
	}
}
