package pressure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/test/harness"
)

const (
	endlessGroup = "endless.example.com"
	endlessPath  = "/apis/" + endlessGroup + "/v1"
)

// endless is an extension server that answers a streaming list with its initial events and never tells that
// they have ended.
type endless struct {
	more chan struct{} // closed when each watch gets a second event

	mu   sync.Mutex      // guards what follows
	read map[string]bool // who has read objects
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	object := `{"apiVersion":"` + endlessGroup + `/v1","kind":"Thing","metadata":{"name":%q,"resourceVersion":"1"}}`
	w.Header().Set("Content-Type", "application/json")
	if strings.TrimSuffix(r.URL.Path, "/") == endlessPath {
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"`+endlessGroup+
			`/v1","resources":[{"name":"things","singularName":"thing","namespaced":false,"kind":"Thing","verbs":["get","list","watch"]}]}`)
		return
	}
	e.mu.Lock()
	e.read[r.Header.Get("X-Remote-User")] = true
	e.mu.Unlock()
	if !isWatch(r) {
		fmt.Fprintf(w, `{"apiVersion":"`+endlessGroup+`/v1","kind":"ThingList","metadata":{"resourceVersion":"1"},"items":[`+object+`]}`, "first")
		return
	}
	for _, name := range []string{"first", "second"} {
		fmt.Fprintf(w, `{"type":"ADDED","object":`+object+"}\n", name)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-e.more:
		case <-r.Context().Done():
			return
		}
	}
	<-r.Context().Done()
}

// An extension server never ends its initial events. Its watches pass, each event at once, and take no place
// from the stores of other resources. Sluice itself reads nothing there.
func TestInitialEventsOfAnExtensionServerThatNeverEndDelayNobody(t *testing.T) {
	const watches = 40
	e := &endless{more: make(chan struct{}), read: map[string]bool{}}
	apiserver.Aggregate(t, endlessGroup, e)
	createConfigMaps(t, 3, 1000)
	r := startSluice(t, configMaps, harness.SluiceOptions{Config: fewPlaces})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var open []*bufio.Reader
	for range watches {
		resp, err := r.Raw("admin").Open(ctx, harness.Request{
			Path:   endlessPath + "/things?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			Header: http.Header{"Accept": {"application/json"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(source, "upstream; not-") {
			t.Fatalf("status %d from %s", resp.StatusCode, source)
		}
		open = append(open, bufio.NewReader(resp.Body))
	}
	expect := func(name string) {
		for _, watch := range open {
			if line, err := watch.ReadString('\n'); err != nil || !strings.Contains(line, name) {
				t.Fatalf("%q, %v, want the event of %s", line, err, name)
			}
		}
	}
	expect("first")
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	r.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	close(e.more)
	expect("second")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.read["sluice"] {
		t.Errorf("objects are read by %v", e.read)
	}
}
