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

// acceptEncodings are what clients send, as they send it.
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
	{"one that wants none", "gzip;q=0, zstd;q=0"},
}

// longList is a path to more than the length from which answers are compressed,
// and the query for a state of it: lists of any version differ in theirs.
func longList(t *testing.T) (path, query string) {
	t.Helper()
	namespace := plane.Namespace(t)
	pods := harness.Pods(40, namespace, 1)
	if err := plane.CreatePods(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	path = "/api/v1/namespaces/" + namespace + "/pods"
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	harness.Eventually(t, "all pods are cached", func() error {
		a, err := sluice.Raw("admin").Get(t.Context(), path+"?resourceVersion=0", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		if err != nil {
			return err
		}
		direct, err := plane.Raw("admin").Get(t.Context(), path, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		if err == nil && !bytes.Equal(a.Body[bytes.Index(a.Body, []byte("items")):], direct.Body[bytes.Index(direct.Body, []byte("items")):]) {
			err = fmt.Errorf("the cache is behind")
		}
		version, _ := json.Value(a.Body).Get("metadata", "resourceVersion").Text()
		query = "?resourceVersionMatch=Exact&resourceVersion=" + version
		return err
	})
	return path, query
}

// Whatever coding an answer comes in is one of those that were asked for, and
// what is in it is what comes without.
func TestCodingsThatClientsAskFor(t *testing.T) {
	path, query := longList(t)
	for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"} {
		q := harness.Request{Path: path + query}
		plain := readAs(t, q, accept, "")
		for _, e := range acceptEncodings {
			for _, http1 := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, HTTP/1 %v", accept, e.client, http1), func(t *testing.T) {
					q.HTTP1 = http1
					if got := readAs(t, q, accept, e.value); !bytes.Equal(got, plain) {
						t.Errorf("%d bytes differ from the %d without a coding", len(got), len(plain))
					}
				})
			}
		}
	}
}

// A streaming list is compressed too; each event is to be read as it comes.
func TestCodingsOfStreamingLists(t *testing.T) {
	path, _ := longList(t)
	path += "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	plain := readState(t, path, "")
	if len(plain) != 40 {
		t.Errorf("%d objects", len(plain))
	}
	for _, e := range acceptEncodings {
		t.Run(e.client, func(t *testing.T) {
			if got := readState(t, path, e.value); !slices.Equal(got, plain) {
				t.Errorf("%d events differ from the %d without a coding", len(got), len(plain))
			}
		})
	}
}

// readAs returns an answer of the cache, decoded.
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

// readState returns the lines of a watch up to the bookmark that ends the state.
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

// checkHead checks that an answer comes out of the cache, and in a coding if
// the client takes one that there is.
func checkHead(t *testing.T, resp *http.Response, encodings string) {
	t.Helper()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Sluice-Source"), "cache") {
		t.Fatalf("%s from %q", resp.Status, resp.Header.Get("Sluice-Source"))
	}
	var takes []string
	for token := range strings.SplitSeq(encodings, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(token), ";")
		if (name == "gzip" || name == "zstd") && weight != "q=0" {
			takes = append(takes, name)
		}
	}
	coding := resp.Header.Get("Content-Encoding")
	if coding == "" && len(takes) == 0 {
		return
	}
	if !slices.Contains(takes, coding) {
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

// curl --compressed prints what curl prints.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	path, state := longList(t)
	url := sluice.URL + path
	for _, query := range []string{state, state + "&limit=3"} {
		for _, protocol := range [][]string{{"--http1.1"}, nil} { // by default HTTP/2, if curl has it
			t.Run(fmt.Sprint(query, protocol), func(t *testing.T) {
				args := append(protocol, url+query)
				plain, _ := runCurl(t, curl, args...)
				compressed, head := runCurl(t, curl, append(args, "--compressed")...)
				if !bytes.Equal(plain, compressed) || len(plain) == 0 {
					t.Errorf("%d bytes without --compressed, %d with", len(plain), len(compressed))
				}
				if long := len(plain) > 128<<10; long != strings.Contains(strings.ToLower(head), "content-encoding: ") {
					t.Errorf("%d bytes came with\n%s", len(plain), head)
				}
			})
		}
	}
}

// runCurl returns what curl prints, and the head of the answer.
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
