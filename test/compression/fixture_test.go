package compression

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sluice/test/harness"
)

const (
	namespace = "default"
	pods      = "/api/v1/namespaces/" + namespace + "/pods"
	// podCount is enough for 1.6 MB of JSON and several segments.
	podCount = 200
)

var (
	apiserver *harness.ControlPlane
	// sluice has the default configuration; compressing compresses all watches.
	sluice, compressing *harness.Sluice
)

const watchesConfig = `
apiVersion: sluice/v1alpha1
kind: Configuration
compression: {watches: true}
`

func TestMain(m *testing.M) { harness.Main(m, 50, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer apiserver.Stop()
	if err := apiserver.CreatePods(context.Background(), harness.Pods(podCount, namespace, 1)); err != nil {
		return 0, err
	}
	if sluice, err = apiserver.StartSluiceMain(); err != nil {
		return 0, err
	}
	if compressing, err = apiserver.StartSluiceMain(harness.SluiceOptions{Config: watchesConfig}); err != nil {
		return 0, err
	}
	code = m.Run()
	for _, s := range []*harness.Sluice{sluice, compressing} {
		stopped := s.Stop()
		if stopped != nil || code != 0 {
			fmt.Fprintln(os.Stderr, s.Log())
		}
		err = errors.Join(err, stopped)
	}
	return code, err
}

// open sends a GET with these Accept and, unless empty, Accept-Encoding headers. It returns a
// reader of the decompressed body and its content coding.
func open(t *testing.T, s *harness.Sluice, path, accept, accepted string) (body io.Reader, coding string) {
	t.Helper()
	h := http.Header{"Accept": {accept}}
	if accepted != "" {
		h["Accept-Encoding"] = []string{accepted}
	}
	resp, err := s.Raw("admin").Open(t.Context(), harness.Request{Path: path, Header: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || source[:5] != "cache" {
		t.Fatalf("%s: %s, from %q", path, resp.Status, source)
	}
	switch coding = resp.Header.Get("Content-Encoding"); coding {
	case "gzip":
		body, err = gzip.NewReader(resp.Body)
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1)); err == nil {
			t.Cleanup(z.Close)
		}
		body = z
	default:
		body = resp.Body
	}
	if err != nil {
		t.Fatal(err)
	}
	if vary := resp.Header.Get("Vary"); (vary == "Accept-Encoding") != (coding != "") {
		t.Errorf("%s in %q varies by %q", path, coding, vary)
	}
	return body, coding
}

func readAll(t *testing.T, in io.Reader) []byte {
	t.Helper()
	all, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
