package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"sluice/proxy/request"
)

// Bodies whose clients wait for their end are read in full and not flushed, and streams are passed as they come.
func TestBodiesThatAreReadInFullAreNotFlushed(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 10)
	cut := errors.New("cut")
	for _, row := range []struct {
		url  string
		code int
		full bool
	}{
		{"/api/v1/pods", http.StatusOK, true},
		{"/api/v1/namespaces/ns/pods?limit=1", http.StatusOK, true},
		{"/api/v1/namespaces/ns/pods/p", http.StatusOK, true},
		{"/apis/ex.io/v1/foos", http.StatusOK, true},
		{"/apis/ex.io/v1/foos", http.StatusSwitchingProtocols, false},
		{"/api/v1/pods?watch=1", http.StatusOK, false},
		{"/api/v1/namespaces/ns/pods/p/log", http.StatusOK, false},
		{"/api/v1/namespaces/ns/pods/p/proxy/x", http.StatusOK, false},
		{"/metrics", http.StatusOK, false},
	} {
		info, err := request.Parse(httptest.NewRequest(http.MethodGet, row.url, nil))
		if err != nil {
			t.Fatal(err)
		}
		body := io.MultiReader(iotest.OneByteReader(bytes.NewReader(text)), iotest.ErrReader(cut))
		resp := &http.Response{StatusCode: row.code, Body: io.NopCloser(body), ContentLength: -1}
		readInFull(resp, info)
		client := httptest.NewRecorder()
		newClientWriter(client, info).WriteHeader(row.code)
		if streams := row.code == http.StatusOK && !row.full; client.Flushed != streams || (resp.ContentLength < 0) == row.full {
			t.Errorf("%s, %d: flushed: %v, length %d", row.url, row.code, client.Flushed, resp.ContentLength)
		}
		buf := make([]byte, 60)
		n, err := resp.Body.Read(buf)
		if full := n == len(buf); err != nil || full != row.full || !bytes.Equal(buf[:n], text[:n]) {
			t.Errorf("%s, %d: read %q, %v", row.url, row.code, buf[:n], err)
		}
		if !row.full {
			continue
		}
		if n, err = resp.Body.Read(buf); n != 40 || !errors.Is(err, cut) || !bytes.Equal(buf[:n], text[60:]) {
			t.Errorf("%s: then %q, %v", row.url, buf[:n], err)
		}
	}
}

// An HTTP/2 server gives a request without a body an empty one; to read it would cost two deadlines, each a message to the
// goroutine of the connection.
func TestARequestWithoutABodyIsNotRead(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("read")))
	free, err := new(passing).withBody(nil, r)
	if err != nil || r.Body != http.NoBody {
		t.Fatalf("%v, body %v", err, r.Body)
	}
	free()
}
