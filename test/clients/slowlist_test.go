package clients

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"sluice/codec/json"
	"sluice/test/harness"
)

const (
	slowReaders = 50
	slowObjects = 80
	// maxGrowth limits the growth of the process to a quarter of one copy of the list per reader.
	maxGrowth = 200 << 20
)

// A client that stops reading a long list pins socket buffers and one block of the list, not a copy.
func TestSlowListReadersUseLittleMemory(t *testing.T) {
	namespace := apiserver.Namespace(t)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice"}) // the race detector needs additional memory
	size := fill(t, namespace)
	configMaps.sync(t, s)
	path := configMaps.Path(namespace)
	version := ""
	harness.Eventually(t, "all objects are cached", func() error {
		a, err := s.Raw("admin").Get(t.Context(), path+"?resourceVersion=0", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		if err != nil {
			return err
		}
		if n := strings.Count(string(a.Body), `"uid":`); a.Status != http.StatusOK || n != slowObjects {
			return fmt.Errorf("%d with %d objects", a.Status, n)
		}
		version, _ = json.Value(a.Body).Get("metadata", "resourceVersion").Text()
		return nil
	})
	path += "?resourceVersionMatch=Exact&resourceVersion=" + version
	for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"} {
		t.Run(accept, func(t *testing.T) {
			readSlowly(t, s, path, accept, size)
		})
	}
}

// fill creates slowObjects large objects and returns their total size.
func fill(t *testing.T, namespace string) (size int) {
	t.Helper()
	const each = 200_000 // larger objects pass in YAML
	var g errgroup.Group
	g.SetLimit(8)
	for i := range slowObjects {
		g.Go(func() error {
			return apiserver.Create(t.Context(), configMaps.Path(namespace),
				fmt.Sprintf(`{"metadata":{"name":"m%d"},"data":{"text":%q}}`, i, strings.Repeat(fmt.Sprintf("line %d of a text\n", i), each/17)))
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return slowObjects * each
}

func readSlowly(t *testing.T, s *harness.Sluice, path, accept string, size int) {
	before, err := s.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	var bodies []io.Reader
	for range slowReaders {
		resp := s.Raw("admin").MustOpen(t, harness.Request{
			Path: path, Header: http.Header{"Accept": {accept}}, HTTP1: true, // a separate connection
		})
		if source := resp.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
			t.Fatalf("from %q", source)
		}
		bodies = append(bodies, resp.Body)
	}
	sums := make([]string, slowReaders)
	var g errgroup.Group
	for i, body := range bodies {
		g.Go(func() error {
			hash := sha256.New()
			n, err := io.Copy(hash, body)
			if err == nil && n < int64(size)*9/10 {
				err = fmt.Errorf("only %d bytes", n)
			}
			sums[i] = string(hash.Sum(nil))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, sum := range sums {
		if sum != sums[0] {
			t.Fatal("the lists differ")
		}
	}
	after, err := s.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d readers of %d MB: from %d to %d MB", slowReaders, size>>20, before>>20, after>>20)
	if after-before > maxGrowth {
		t.Errorf("the process grew by %d MB", (after-before)>>20)
	}
}
