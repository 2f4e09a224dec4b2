package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/test/harness"
)

const (
	reports = 40
	// reportItems is how many vulnerabilities a report has: more than 1 MB of JSON, nearly what etcd
	// permits.
	reportItems = 2500

	// mostGrowth limits the growth of the process while the reports are read, as a multiple of their
	// JSON: their compressed blocks in seven formats and two codings, and garbage. Texts of several
	// reports at once would take twice as much.
	mostGrowth = 3
)

const reportDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: reports.large.example.com}
spec:
  group: large.example.com
  scope: Namespaced
  names: {plural: reports, singular: report, kind: Report}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// newReport returns a report as a scanner of images writes it.
func newReport(namespace string, i int) map[string]any {
	rnd := rand.New(rand.NewPCG(1, uint64(i)))
	items := make([]any, reportItems)
	for k := range items {
		pkg := fmt.Sprintf("lib%x", rnd.Uint32()>>16)
		items[k] = map[string]any{
			"vulnerabilityID": fmt.Sprintf("CVE-%d-%05d", 2015+rnd.IntN(10), rnd.IntN(100_000)), "resource": pkg,
			"installedVersion": fmt.Sprintf("%d.%d.%d", rnd.IntN(9), rnd.IntN(30), rnd.IntN(30)), "severity": []string{"LOW", "MEDIUM", "HIGH"}[rnd.IntN(3)],
			"score": float64(rnd.IntN(100)) / 10, "links": []any{}, "title": pkg + ": a crafted archive makes the decoder read past the end of a buffer",
			"primaryLink": fmt.Sprintf("https://avd.example.com/nvd/%016x", rnd.Uint64()), "target": "usr/lib/x86_64-linux-gnu/" + pkg + ".so",
			"description": strings.Repeat("An attacker who controls the input may cause a crash. ", 2),
		}
	}
	return map[string]any{
		"apiVersion": "large.example.com/v1", "kind": "Report", "report": map[string]any{"vulnerabilities": items},
		"metadata": map[string]any{"name": fmt.Sprintf("report-%03d", i), "namespace": namespace, "labels": map[string]any{"i": fmt.Sprint(i)}},
	}
}

// fillReports creates the reports and returns the length of their JSON.
func fillReports(t *testing.T, namespace string) (size int64) {
	t.Helper()
	raw := apiserver.Raw("admin")
	post := func(ctx context.Context, path string, body []byte) (int, error) {
		a, err := raw.Do(ctx, harness.Request{Method: http.MethodPost, Path: path, Body: body, Header: http.Header{"Content-Type": {"application/json"}}})
		if err != nil {
			return 0, err
		}
		return a.Status, nil
	}
	if code, err := post(t.Context(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", toJSON(t, reportDefinition)); err != nil || code != 201 && code != 409 {
		t.Fatal(code, err)
	}
	var g errgroup.Group
	g.SetLimit(4)
	for i := range reports {
		body, err := json.Marshal(newReport(namespace, i))
		if err != nil {
			t.Fatal(err)
		}
		size += int64(len(body))
		g.Go(func() error {
			return wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
				code, err := post(ctx, reportsOf(namespace), body)
				return code == http.StatusCreated, err // 404 until the definition is established
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return size
}

func reportsOf(namespace string) string {
	return "/apis/large.example.com/v1/namespaces/" + namespace + "/reports"
}

// The runs that are encoded in one piece are bounded in bytes, so that a store of few large objects can
// be listed and watched in every format at little cost in memory.
func TestListsOfLargeObjectsUseLittleMemory(t *testing.T) {
	namespace := apiserver.Namespace(t)
	size := fillReports(t, namespace)
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice"}) // the race detector needs additional memory
	s.WaitForCacheSync(t, "/apis/large.example.com/v1/reports", "reports.v1.large.example.com")
	inSync, err := s.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	const (
		table    = ";as=Table;g=meta.k8s.io;v=v1"
		metadata = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	for _, accept := range []string{"application/json", "application/cbor", "application/yaml", "application/json" + table, "application/json" + metadata} {
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			for _, query := range []string{"?resourceVersion=0", "?resourceVersion=0&includeObject=Object"} {
				readAll(t, s, reportsOf(namespace)+query, accept, coding)
			}
		}
	}
	for _, accept := range []string{"application/json", "application/cbor", "application/json" + table} {
		watchReports(t, s, namespace, accept)
	}
	peak, err := s.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB of JSON: peak %d MB in sync, %d MB after the lists", size>>20, inSync>>20, peak>>20)
	if peak-inSync > mostGrowth*size {
		t.Errorf("the process grew by %d MB", (peak-inSync)>>20)
	}
}

// readAll reads a response out of the cache to its end.
func readAll(t *testing.T, s *harness.Sluice, path, accept, coding string) {
	t.Helper()
	resp, err := s.Raw("admin").Open(t.Context(), harness.Request{Path: path, Header: http.Header{"Accept": {accept}, "Accept-Encoding": {coding}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != 200 || !strings.HasPrefix(source, "cache") {
		t.Fatalf("%s: %s from %q", accept, resp.Status, source)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// watchReports reads the initial events of a watch and then an update.
func watchReports(t *testing.T, s *harness.Sluice, namespace, accept string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := s.Raw("admin").Open(ctx, harness.Request{Path: reportsOf(namespace) + "?watch=1&resourceVersion=0", Header: http.Header{"Accept": {accept}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	seen := &lastBytes{}
	read := func(until string) {
		for buf := make([]byte, 64<<10); !seen.has(until); {
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			seen.add(buf[:n])
		}
	}
	read(fmt.Sprintf("report-%03d", reports-1))
	mark := fmt.Sprintf("mark-%d", rand.Uint64())
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"mark":%q}}}`, mark)
	a, err := apiserver.Raw("admin").Do(t.Context(), harness.Request{
		Method: http.MethodPatch, Path: reportsOf(namespace) + "/report-000", Body: patch, Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
	})
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	read(mark)
}

// lastBytes searches a stream.
type lastBytes struct{ tail []byte }

func (l *lastBytes) add(p []byte) {
	l.tail = append(l.tail, p...)
	if n := len(l.tail) - 128<<10; n > 0 {
		l.tail = append(l.tail[:0], l.tail[n:]...)
	}
}

func (l *lastBytes) has(text string) bool { return bytes.Contains(l.tail, []byte(text)) }
