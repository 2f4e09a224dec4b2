package pressure

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/codec/json"
	"sluice/test/harness"
)

const configMaps = "/api/v1/configmaps"

// createConfigMaps creates n large objects in a namespace of the test, whose path it returns, and lets the user "reader" read
// all.
func createConfigMaps(t *testing.T, n, size int) (path string) {
	t.Helper()
	path = "/api/v1/namespaces/" + apiserver.Namespace(t) + "/configmaps"
	var g errgroup.Group
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error {
			object := fmt.Sprintf(`{"metadata":{"name":"c%05d"},"data":{"text":"%s"}}`, i, strings.Repeat("x", size))
			_, err := apiserver.Raw("admin").Write(t.Context(), http.MethodPost, path, object)
			return err
		})
	}
	apiserver.Grant(t, "", harness.User("reader"), harness.MayRead("", "configmaps", "pods"))
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	apiserver.Raw("reader").AwaitStatus(t, http.StatusOK, harness.Request{Path: configMaps + "?limit=1"})
	return path
}

// write creates one more object at the apiserver, and returns its resource version.
func write(t *testing.T, path, name string) uint64 {
	t.Helper()
	created := apiserver.Raw("admin").Must(t, http.MethodPost, path, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	text, _ := json.Value(created.Body).Get("metadata", "resourceVersion").Text()
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// answers is what readers have received.
type answers struct {
	mu      sync.Mutex     // guards what follows
	served  map[string]int // by source
	refused int
}

func (a *answers) String() string { return fmt.Sprintf("served %v, refused %d", a.served, a.refused) }

// onlyServed returns an error if anything has passed or was refused.
func (a *answers) onlyServed() error {
	for source := range a.served {
		if !strings.HasPrefix(source, "cache;") {
			return fmt.Errorf("served by %s", source)
		}
	}
	return nil
}

// readAll has n clients make a consistent list, each again when it is told to. Every answer must show the
// version and, unless it is empty, an object.
func readAll(t *testing.T, r *relay, n int, version uint64, object string) *answers {
	t.Helper()
	a := &answers{served: map[string]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for range n {
		g.Go(func() error { return a.read(ctx, r.Raw("reader"), version, object) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *answers) read(ctx context.Context, from *harness.RawClient, version uint64, object string) error {
	for {
		resp, err := from.Open(ctx, harness.Request{Path: configMaps, Header: http.Header{"Accept": {"application/json"}}})
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			a.mu.Lock()
			a.served[resp.Header.Get("Sluice-Source")]++
			a.mu.Unlock()
			return check(resp, version, object)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		retry := resp.Header.Get("Retry-After")
		seconds, err := strconv.Atoi(retry)
		if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable || err != nil {
			return fmt.Errorf("status %d, Retry-After %q: %.300s", resp.StatusCode, retry, text)
		}
		a.mu.Lock()
		a.refused++
		a.mu.Unlock()
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var listVersion = regexp.MustCompile(`"metadata":{"resourceVersion":"(\d+)"`)

// check compares a list with what it must at least show. It keeps no more of it than a piece.
func check(resp *http.Response, version uint64, object string) error {
	defer resp.Body.Close()
	var shown uint64
	name, found := []byte(`"name":"`+object+`"`), object == ""
	piece, kept := make([]byte, 64<<10), 0
	for {
		n, err := resp.Body.Read(piece[kept:])
		text := piece[:kept+n]
		if m := listVersion.FindSubmatch(text); m != nil && shown == 0 {
			shown, _ = strconv.ParseUint(string(m[1]), 10, 64)
		}
		found = found || bytes.Contains(text, name)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		kept = copy(piece, text[max(0, len(text)-1024):])
	}
	if shown < version || !found {
		return fmt.Errorf("%s: shows version %d, want %d with %q", resp.Header.Get("Sluice-Source"), shown, version, object)
	}
	return nil
}
