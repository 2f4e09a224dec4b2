package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/iotest"

	"sluice/proxy/request"
)

// writes records the lengths of what is written.
type writes struct {
	*httptest.ResponseRecorder
	lengths []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.lengths = append(w.lengths, len(p))
	return w.ResponseRecorder.Write(p)
}

// The pieces of bodies whose clients wait for their end are joined and not flushed, and streams are passed as they come.
func TestPiecesOfAListAreJoined(t *testing.T) {
	for _, row := range []struct {
		url, contentType string
		code             int
		joined           bool
	}{
		{"/api/v1/pods", "application/json", http.StatusOK, true},
		{"/api/v1/namespaces/ns/pods?limit=1", "application/json", http.StatusOK, true},
		{"/api/v1/namespaces/ns/pods/p", "application/vnd.kubernetes.protobuf", http.StatusOK, true},
		{"/apis/ex.io/v1/foos", "", http.StatusOK, true},
		{"/apis/ex.io/v1/foos", "text/event-stream", http.StatusOK, false},
		{"/apis/ex.io/v1/foos", "", http.StatusAccepted, false},
		{"/api/v1/pods?watch=1", "application/json", http.StatusOK, false},
		{"/api/v1/namespaces/ns/pods/p/log", "text/plain", http.StatusOK, false},
		{"/api/v1/namespaces/ns/pods/p/proxy/x", "text/html", http.StatusOK, false},
		{"/metrics", "text/plain", http.StatusOK, false},
	} {
		info, err := request.Parse(httptest.NewRequest(http.MethodGet, row.url, nil))
		if err != nil {
			t.Fatal(err)
		}
		resp := &http.Response{StatusCode: row.code, Header: http.Header{"Content-Type": {row.contentType}}, ContentLength: -1}
		joinPieces(resp, info)
		client := &writes{ResponseRecorder: httptest.NewRecorder()}
		client.Header().Set("Content-Type", row.contentType)
		w := newClientWriter(t.Context(), client, info)
		w.WriteHeader(row.code)
		if streams := row.code == http.StatusOK && !row.joined; client.Flushed != streams || (resp.ContentLength < 0) == row.joined {
			t.Errorf("%s, %d: flushed: %v, length %d", row.url, row.code, client.Flushed, resp.ContentLength)
		}
		text := bytes.Repeat([]byte("0123"), 1<<10)
		for range 10 {
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		w.end()
		want := slices.Repeat([]int{len(text)}, 10)
		if row.joined {
			want = []int{copyBufferSize, copyBufferSize, 10*len(text) - 2*copyBufferSize}
		}
		if !slices.Equal(client.lengths, want) || !bytes.Equal(client.Body.Bytes(), bytes.Repeat(text, 10)) {
			t.Errorf("%s, %d: written %v", row.url, row.code, client.lengths)
		}
	}
}

// An HTTP/2 server gives a request without a body an empty one; to read it would cost two deadlines, each a message to the
// goroutine of the connection.
func TestARequestWithoutABodyIsNotRead(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("read")))
	p := new(passing)
	free, err := p.withBody(nil, r)
	if err != nil || r.Body != http.NoBody {
		t.Fatalf("%v, body %v", err, r.Body)
	}
	free()
}
