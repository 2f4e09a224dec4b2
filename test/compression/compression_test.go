package compression

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice/test/harness"
)

// codings are Accept-Encoding headers and the content coding of a long response to each.
var codings = map[string]string{"": "", "gzip": "gzip", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "br": ""}

var formats = map[string]string{
	"json":     "application/json",
	"indented": "application/json;pretty=1",
	"yaml":     "application/yaml",
	"protobuf": "application/vnd.kubernetes.protobuf",
	"cbor":     "application/cbor",
	"metadata": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}

// TestCompressedListEqualsThePlainOne in every format, of all pods and of a selection.
func TestCompressedListEqualsThePlainOne(t *testing.T) {
	exact := "?resourceVersionMatch=Exact&resourceVersion=" + syncBoth(t)
	for _, query := range []string{exact, exact + "&labelSelector=!none", exact + "&fieldSelector=spec.nodeName!%3Dx"} {
		for format, accept := range formats {
			t.Run(format+query, func(t *testing.T) {
				body, _ := open(t, sluice, pods+query, accept, "")
				plain := readAll(t, body)
				for accepted, want := range codings {
					body, coding := open(t, sluice, pods+query, accept, accepted)
					if got := readAll(t, body); coding != want || !bytes.Equal(got, plain) {
						t.Errorf("%q: %d bytes in %q, want %d in %q", accepted, len(got), coding, len(plain), want)
					}
				}
			})
		}
	}
}

// TestCompressedListFollowsUpdates: after each update a list is spliced from compressed blocks, one
// of which is new.
func TestCompressedListFollowsUpdates(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	for i := range 20 {
		rv := touch(t, i*podCount/20)
		reach(t, sluice, rv)
		path := pods + "?resourceVersionMatch=Exact&resourceVersion=" + rv
		body, _ := open(t, sluice, path, "application/json", "")
		plain := readAll(t, body)
		if !bytes.Contains(plain, []byte(`"resourceVersion":"`+rv+`"`)) {
			t.Fatalf("the list at %s lacks the update", rv)
		}
		for _, accepted := range []string{"gzip", "zstd"} {
			body, _ := open(t, sluice, path, "application/json", accepted)
			if got := readAll(t, body); !bytes.Equal(got, plain) {
				t.Errorf("%s at %s: %d bytes, want %d", accepted, rv, len(got), len(plain))
			}
		}
	}
}

// touch changes a pod and returns its new resource version.
func touch(t *testing.T, i int) string {
	t.Helper()
	name := harness.Pods(i+1, namespace, 1)[i].Name
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano())
	p, err := apiserver.Client("admin").CoreV1().Pods(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.ResourceVersion
}

// reach waits until the cache of a gateway has reached a version: a read of exactly a later one passes.
func reach(t *testing.T, s *harness.Sluice, version string) {
	t.Helper()
	harness.Eventually(t, "version "+version+" in the cache", func() error {
		a, err := s.Raw("admin").Get(t.Context(), pods+"?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion="+version, "application/json")
		if err != nil {
			return err
		}
		if source := a.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
			return fmt.Errorf("%d from %q", a.Status, source)
		}
		return nil
	})
}

const streaming = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=" + seconds

var initialEventsEnd = []byte("k8s.io/initial-events-end")

// readTo reads until the text has been read. No later byte may be needed to decompress it.
func readTo(in io.Reader, text []byte) (got []byte, err error) {
	piece := make([]byte, 32<<10)
	for {
		n, err := in.Read(piece)
		got = append(got, piece[:n]...)
		switch {
		case bytes.Contains(got, text):
			return got, nil
		case errors.Is(err, io.EOF):
			err = errEnded
			fallthrough
		case err != nil:
			return got, fmt.Errorf("%d bytes without %q: %w", len(got), text, err)
		}
	}
}

// TestStreamingListIsCompressedAndLive: the initial events are compressed, later events are
// readable at once, and the compressed stream ends well.
func TestStreamingListIsCompressedAndLive(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	for _, format := range []string{"json", "protobuf", "cbor"} {
		for _, accepted := range []string{"", "gzip", "zstd"} {
			t.Run(format+" "+accepted, func(t *testing.T) {
				t.Parallel()
				checkWatch(t, sluice, pods+streaming, format, accepted, accepted)
			})
		}
	}
}

// lives are how long the watches of checkWatch live, in its path seconds: the first ones end before
// their events on a loaded machine.
var lives = []string{"10", "60", "300"}

const seconds = "{seconds}"

func checkWatch(t *testing.T, s *harness.Sluice, path, format, accepted, want string) {
	t.Helper()
	var err error
	for _, life := range lives {
		if err = readWatch(t, s, strings.Replace(path, seconds, life, 1), format, accepted, want); !errors.Is(err, errEnded) {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// errEnded is returned for a watch that has ended in order, but before what it had to deliver.
var errEnded = errors.New("the watch has ended")

// readWatch reads a watch up to an update and then to its end.
func readWatch(t *testing.T, s *harness.Sluice, path, format, accepted, want string) error {
	t.Helper()
	accept := formats[format]
	body, coding := open(t, s, path, accept, accepted)
	if coding != want {
		t.Errorf("Content-Encoding is %q, want %q", coding, want)
	}
	if strings.Contains(path, "sendInitialEvents=true") {
		initial, err := readTo(body, initialEventsEnd)
		if err != nil {
			return err
		}
		if n := bytes.Count(initial, []byte("ADDED")); n != podCount {
			t.Errorf("%d initial events, want %d", n, podCount)
		}
	}
	if _, err := readTo(body, []byte(touch(t, 7))); err != nil {
		return err
	}
	if rest, err := io.ReadAll(body); err != nil {
		return fmt.Errorf("end after %d more bytes: %w", len(rest), err)
	}
	return nil
}

func TestWatchIsCompressedOnlyIfConfigured(t *testing.T) {
	now := syncBoth(t)
	short := "?watch=1&timeoutSeconds=" + seconds + "&resourceVersion=" + now
	for accepted, want := range map[string]string{"": "", "gzip": "gzip", "zstd": "zstd"} {
		t.Run("configured "+accepted, func(t *testing.T) {
			t.Parallel()
			checkWatch(t, compressing, pods+short, "json", accepted, want)
		})
		t.Run("default "+accepted, func(t *testing.T) {
			t.Parallel()
			checkWatch(t, sluice, pods+short, "json", accepted, "")
		})
	}
}

// syncBoth returns a resource version that is in the history of both.
func syncBoth(t *testing.T) string {
	t.Helper()
	for _, s := range []*harness.Sluice{sluice, compressing} {
		s.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	}
	rv := touch(t, 0)
	for _, s := range []*harness.Sluice{sluice, compressing} {
		reach(t, s, rv)
	}
	return rv
}

// TestShortStreamingListIsCompressedAsByTheApiserver: since 1.37 it compresses streaming lists of any length.
func TestShortStreamingListIsCompressedAsByTheApiserver(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/namespaces", "namespaces.v1")
	coding := func(s interface {
		Raw(user string) *harness.RawClient
	}) string {
		resp, err := s.Raw("admin").Open(t.Context(), harness.Request{
			Path:   "/api/v1/namespaces" + strings.Replace(streaming, seconds, "20", 1),
			Header: http.Header{"Accept-Encoding": {"gzip"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.Header.Get("Content-Encoding")
	}
	if got, want := coding(sluice), coding(apiserver); got != want {
		t.Errorf("Content-Encoding is %q, at the apiserver %q", got, want)
	}
}
