package clients

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sluice/codec/json"
	"sluice/test/harness"
)

// acceptEncodings lists the Accept-Encoding headers of widespread clients.
var acceptEncodings = []struct{ client, value string }{
	{"Go", "gzip"},
	{"curl --compressed", "deflate, gzip, br, zstd"},
	{"curl without libraries", "deflate, gzip"},
	{"Chrome", "gzip, deflate, br, zstd"},
	{"Firefox over plain HTTP", "gzip, deflate"},
	{"node-fetch", "gzip,deflate"},
	{"undici", "br, gzip, deflate"},
	{"axios", "gzip, compress, deflate, br"},
	{"Python requests", "gzip, deflate, br, zstd"},
	{"Python urllib", "identity"},
	{"Java", "zstd;q=0.9, gzip"},
	{"both refused", "gzip;q=0, zstd;q=0"},
}

// longList creates a list that is long enough to be compressed. It returns its path, and a query for
// one exact version of it.
func longList(t *testing.T) (path, query string) {
	t.Helper()
	namespace := apiserver.Namespace(t)
	pods := harness.Pods(40, namespace, 1)
	if err := apiserver.CreatePods(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	path = "/api/v1/namespaces/" + namespace + "/pods"
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	harness.Eventually(t, "all pods are cached", func() error {
		const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		a, err := sluice.Raw("admin").Get(t.Context(), path+"?resourceVersion=0", metadata)
		if err != nil {
			return err
		}
		direct, err := apiserver.Raw("admin").Get(t.Context(), path, metadata)
		if err != nil {
			return err
		}
		_, cached, ok := bytes.Cut(a.Body, []byte(`"items"`))
		if _, want, _ := bytes.Cut(direct.Body, []byte(`"items"`)); !ok || !bytes.Equal(cached, want) {
			return fmt.Errorf("the cache has another list: %d, %d from the apiserver", a.Status, direct.Status)
		}
		version, _ := json.Value(a.Body).Get("metadata", "resourceVersion").Text()
		query = "?resourceVersionMatch=Exact&resourceVersion=" + version
		return nil
	})
	return path, query
}

func TestResponsesAreCompressedOnlyAsAccepted(t *testing.T) {
	path, query := longList(t)
	for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"} {
		q := harness.Request{Path: path + query}
		plain := readAs(t, q, accept, "")
		for _, e := range acceptEncodings {
			for _, http1 := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, HTTP/1 %v", accept, e.client, http1), func(t *testing.T) {
					q.HTTP1 = http1
					if got := readAs(t, q, accept, e.value); !bytes.Equal(got, plain) {
						t.Errorf("%d bytes differ from the %d uncompressed bytes", len(got), len(plain))
					}
				})
			}
		}
	}
}

func TestStreamingListsAreCompressedOnlyAsAccepted(t *testing.T) {
	path, _ := longList(t)
	path += "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	plain := readState(t, path, "")
	if len(plain) != 40 {
		t.Errorf("%d initial events, want 40", len(plain))
	}
	for _, e := range acceptEncodings {
		t.Run(e.client, func(t *testing.T) {
			if got := readState(t, path, e.value); !slices.Equal(got, plain) {
				t.Errorf("%d events differ from the %d uncompressed events", len(got), len(plain))
			}
		})
	}
}

// readAs returns the decompressed body of a response from the cache.
func readAs(t *testing.T, q harness.Request, accept, encodings string) []byte {
	t.Helper()
	q.Header = http.Header{"Accept": {accept}}
	if encodings != "" {
		q.Header.Set("Accept-Encoding", encodings)
	}
	resp, err := sluice.Raw("admin").Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	checkHead(t, resp, encodings)
	body, err := io.ReadAll(decoded(t, resp))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// readState returns the lines of a watch before the bookmark at the end of the initial events.
func readState(t *testing.T, path, encodings string) (lines []string) {
	t.Helper()
	q := harness.Request{Path: path, Header: http.Header{}}
	if encodings != "" {
		q.Header.Set("Accept-Encoding", encodings)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := sluice.Raw("admin").Open(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	checkHead(t, resp, encodings)
	in := bufio.NewReader(decoded(t, resp))
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, `{"type":"BOOKMARK"`) {
			return lines
		}
		lines = append(lines, line)
	}
}

// checkHead checks that a response comes from the cache, and that it is compressed with an encoding
// that the client accepts, if there is one.
func checkHead(t *testing.T, resp *http.Response, encodings string) {
	t.Helper()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Sluice-Source"), "cache") {
		t.Fatalf("%s from %q", resp.Status, resp.Header.Get("Sluice-Source"))
	}
	var accepted []string
	for token := range strings.SplitSeq(encodings, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(token), ";")
		if (name == "gzip" || name == "zstd") && weight != "q=0" {
			accepted = append(accepted, name)
		}
	}
	coding := resp.Header.Get("Content-Encoding")
	if coding == "" && len(accepted) == 0 {
		return
	}
	if !slices.Contains(accepted, coding) {
		t.Errorf("Content-Encoding %q for %q", coding, encodings)
	}
	if vary := resp.Header.Values("Vary"); !strings.Contains(strings.Join(vary, ","), "Accept-Encoding") {
		t.Errorf("Vary: %q", vary)
	}
}

func decoded(t *testing.T, resp *http.Response) io.Reader {
	t.Helper()
	switch coding := resp.Header.Get("Content-Encoding"); coding {
	case "":
		return resp.Body
	case "gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return z
	case "zstd":
		z, err := zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(z.Close)
		return z
	default:
		t.Fatalf("Content-Encoding %q", coding)
		return nil
	}
}

// curl prints the same with and without --compressed.
func TestCurlDecompressesResponses(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	path, state := longList(t)
	url := sluice.URL + path
	for _, query := range []string{state, state + "&limit=3"} {
		for _, protocol := range [][]string{{"--http1.1"}, nil} { // curl's default is HTTP/2 if built with it
			t.Run(fmt.Sprint(query, protocol), func(t *testing.T) {
				args := append(protocol, url+query)
				plain, _ := runCurl(t, curl, args...)
				compressed, head := runCurl(t, curl, append(args, "--compressed")...)
				if !bytes.Equal(plain, compressed) || len(plain) == 0 {
					t.Errorf("%d bytes without --compressed, %d with", len(plain), len(compressed))
				}
				if long := len(plain) > 128<<10; long != strings.Contains(strings.ToLower(head), "content-encoding: ") {
					t.Errorf("%d bytes with the header\n%s", len(plain), head)
				}
			})
		}
	}
}

// runCurl returns the body that curl prints, and the response header.
func runCurl(t *testing.T, curl string, args ...string) (body []byte, head string) {
	t.Helper()
	headFile := filepath.Join(t.TempDir(), "head")
	cmd := exec.CommandContext(t.Context(), curl, append([]string{
		"--silent", "--show-error", "--fail", "--cacert", filepath.Join(sluice.Dir, "ca.crt"), "--dump-header", headFile, "--config", "-",
	}, args...)...)
	cmd.Stdin = strings.NewReader("oauth2-bearer = " + sluice.RESTConfig("admin").BearerToken)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	body, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	text, err := os.ReadFile(headFile)
	if err != nil {
		t.Fatal(err)
	}
	return body, string(text)
}
