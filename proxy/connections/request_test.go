package connections

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/proxy/accounts"
)

// What follows a body of which the end was not read must not be taken for a request: net/http sees that in the body of its own
// request.
func TestConnectionEndsAfterABodyThatWasClosedEarly(t *testing.T) {
	_, l := listenTCP(t, accounts.Totals{accounts.Silent: 1, accounts.Strangers: 1, accounts.Unverified: 1 << 20})
	s := http.Server{ConnContext: ConnContext, Handler: WithConnection(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Errorf("part of a body is the request %s", r.URL)
		}
		_ = r.Body.Close()
		w.WriteHeader(http.StatusForbidden)
	}))}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	rest := "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	in := bufio.NewReader(dial(t, l, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"+rest))
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusForbidden || !resp.Close {
		t.Fatalf("%+v, %v", resp, err)
	}
	if more, err := http.ReadResponse(in, nil); err == nil {
		t.Errorf("another response: %+v", more)
	}
}

const lists = "/api/v1/pods"

func TestHeaderCountsForTheRequest(t *testing.T) {
	r := httptest.NewRequest("GET", lists, nil)
	r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 10_000))
	if n := RequestBytes(r) - accounts.RequestBytes; n < 10_000 || n > 11_000 {
		t.Errorf("%d bytes", n)
	}
}

// A header of 16 KB can announce 1,850 trailers, which net/http keeps in a map of 224 KB. A path of 29,000 segments takes
// 467 KB once it is parsed, and selectors of 8 KB take 135 KB.
func TestWhatAHeaderExpandsToCountsForTheRequest(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(*http.Request)
		want int64
	}{
		{"trailers", func(r *http.Request) {
			r.Trailer = http.Header{}
			for i := range 1850 {
				r.Trailer[fmt.Sprint("X", i)] = nil
			}
		}, 224 << 10},
		{"path", func(r *http.Request) { r.URL.Path += strings.Repeat("/a", 29_000) }, 467 << 10},
		{"selector", func(r *http.Request) { r.URL.RawQuery = "labelSelector=a+in+(" + strings.Repeat("bb,", 2667) + ")" }, 124 << 10},
	} {
		r := httptest.NewRequest("GET", lists, nil)
		before := RequestBytes(r)
		if row.make(r); RequestBytes(r)-before < row.want {
			t.Errorf("%s: %d bytes, want %d", row.name, RequestBytes(r)-before, row.want)
		}
	}
}

// A client that does not say how long its body is may send as much of it as any other.
func TestBodyOfUnknownLengthCountsOverHTTP2(t *testing.T) {
	for length, want := range map[int64]int64{-1: ReceiveBuffer, 1 << 20: ReceiveBuffer, 1: 1, 0: 0} {
		r := httptest.NewRequest("POST", lists, nil)
		empty := RequestBytes(r)
		r.ProtoMajor, r.ContentLength = 2, length
		if n := RequestBytes(r) - empty; n != want {
			t.Errorf("a body of length %d: %d bytes, want %d", length, n, want)
		}
	}
}

// The server receives the decision of a body before anybody reads it.
func TestReceivedBodyCountsForTheRequest(t *testing.T) {
	r := httptest.NewRequest("POST", lists, strings.NewReader("body"))
	before := RequestBytes(r)
	if r.ProtoMajor = 2; RequestBytes(r) != before+int64(len("body")) {
		t.Errorf("%d bytes over HTTP/2, %d over HTTP/1", RequestBytes(r), before)
	}
}
