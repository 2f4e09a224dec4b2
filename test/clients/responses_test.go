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

// responses records the responses to a client's reads, without their bodies.
type responses struct {
	mu  sync.Mutex
	all []response
}

type response struct {
	url        string
	code       int
	mediaType  string
	source     string // the header Sluice-Source
	compressed bool
}

// record returns cfg with a transport that records reads.
func record(cfg *rest.Config) (*rest.Config, *responses) {
	a := &responses{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, a} })
	return cfg, a
}

type recorder struct {
	next      http.RoundTripper
	responses *responses
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
	r.responses.mu.Lock()
	defer r.responses.mu.Unlock()
	r.responses.all = append(r.responses.all, response{
		req.URL.RequestURI(), resp.StatusCode, mediaType, resp.Header.Get("Sluice-Source"), resp.Uncompressed,
	})
	return resp, nil
}

// check checks that there are responses, and that each has the source, "cache" or "upstream", and one
// of the media types.
func (a *responses) check(t *testing.T, source string, mediaTypes ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if !strings.HasPrefix(one.source, source) || !slices.Contains(mediaTypes, one.mediaType) {
			t.Errorf("%s: %d %s from %q, want %q from %s", one.url, one.code, one.mediaType, one.source, mediaTypes, source)
		}
	}
	if len(a.all) == 0 {
		t.Error("no request was sent")
	}
}

// checkWatches checks whether the first request was a streaming list, and that watches are compressed if they must be.
func (a *responses) checkWatches(t *testing.T, streaming, compressed bool) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := strings.Contains(a.all[0].url, "sendInitialEvents=true"); got != streaming {
		t.Errorf("the first request is %s", a.all[0].url)
	}
	for _, one := range a.all {
		if compressed && strings.Contains(one.url, "watch=") && !one.compressed {
			t.Errorf("%s is not compressed", one.url)
		}
	}
}
