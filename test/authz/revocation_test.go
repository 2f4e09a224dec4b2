package authz

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	// revocationBound is what docs/operating.md promises: no event that was written later than this
	// after the revocation reaches the client, reviews included.
	revocationBound = 13 * time.Second
	// eventBytes is the size of an object: a stalled reader must fill the buffers of its connection.
	eventBytes = 100 << 10
	// updateEvery is the time between two updates, which are more than a slow reader reads.
	updateEvery = 50 * time.Millisecond
)

// paces are how long clients wait for each 16 KiB of a watch: a slow one reads less than is written, a stalled one nothing until
// ctx ends.
var paces = map[string]func(ctx context.Context){
	"prompt":  func(context.Context) {},
	"slow":    func(context.Context) { time.Sleep(50 * time.Millisecond) },
	"stalled": func(ctx context.Context) { <-ctx.Done() },
}

// pacedReader waits before it reads.
type pacedReader struct {
	io.Reader
	wait func()
}

// Read implements io.Reader.
func (r pacedReader) Read(p []byte) (int, error) {
	r.wait()
	return r.Reader.Read(p[:min(len(p), 16<<10)])
}

// A writer updates a configuration map all the time; its annotation is the time of the update. The
// caller's right is revoked under the watch.
func TestRevokedCallerGetsNoLaterEvents(t *testing.T) {
	t.Parallel()
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	for name, pace := range paces {
		for _, http1 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, HTTP/1 %v", name, http1), func(t *testing.T) {
				t.Parallel()
				ns := apiserver.Namespace(t)
				revoke := apiserver.Grant(t, ns, harness.User("nobody"), harness.MayRead("", "configmaps"))
				written := write(t, ns)
				body := openWatch(t, sluice.RESTConfig("nobody"), ns, harness.Request{HTTP1: http1})
				resume, cancel := context.WithCancel(t.Context())
				defer cancel()
				last := make(chan result, 1)
				go func() { last <- readEvents(pacedReader{body, func() { pace(resume) }}) }()
				written.await(t, backlog) // events under way, and a backlog for slow readers
				revoke()
				revoked := awaitDenial(t, ns)
				time.AfterFunc(time.Until(revoked.Add(revocationBound+5*time.Second)), cancel)
				got := receive(t, last)
				if got.events == 0 {
					t.Error("no event has been delivered before the revocation")
				}
				if late := got.latest.Sub(revoked); late > revocationBound {
					t.Errorf("an event of %v after the revocation", late)
				}
				if name == "prompt" && got.code != http.StatusForbidden {
					t.Errorf("the watch ended with code %d, %v", got.code, got.err)
				}
			})
		}
	}
}

// The recheck of a watch repeats its impersonation, which can depend on the selector of fields.
func TestWatchOfAnImpersonatedUserEndsWithItsRight(t *testing.T) {
	t.Parallel()
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	for _, as := range []string{"admin", "admin-cert"} {
		ns := apiserver.Namespace(t)
		revoke := apiserver.Grant(t, ns, harness.User("acted"), harness.MayRead("", "configmaps"))
		body := openWatch(t, sluice.RESTConfig(as), ns, harness.Request{
			Path: "&fieldSelector=metadata.name!%3Dnone", Header: http.Header{"Impersonate-User": {"acted"}},
		})
		last := make(chan result, 1)
		go func() { last <- readEvents(body) }()
		revoke()
		if got := receive(t, last); got.code != http.StatusForbidden {
			t.Errorf("%s: the watch ended with code %d, %v", as, got.code, got.err)
		}
	}
}

// awaitDenial waits until the apiserver itself denies the caller, which it learns by a watch, and
// returns when it did at the latest: Sluice cannot know before.
func awaitDenial(t *testing.T, ns string) time.Time {
	t.Helper()
	apiserver.Raw("nobody").AwaitStatus(t, http.StatusForbidden, harness.Request{Path: "/api/v1/namespaces/" + ns + "/configmaps?limit=1"})
	return time.Now()
}

// receive waits for the end of a watch.
func receive(t *testing.T, last <-chan result) (got result) {
	t.Helper()
	harness.Eventually(t, "the watch ends", func() error {
		select {
		case got = <-last:
			return nil
		default:
			return errors.New("it goes on")
		}
	})
	return got
}

// backlog is the number of updates before the right is revoked.
const backlog = 30

// updates counts the updates of a writer.
type updates struct{ n atomic.Int64 }

// await waits until there are so many more.
func (u *updates) await(t *testing.T, more int64) {
	t.Helper()
	goal := u.n.Load() + more
	harness.Eventually(t, "updates", func() error {
		if n := u.n.Load(); n < goal {
			return fmt.Errorf("%d of %d", n, goal)
		}
		return nil
	})
}

// write updates a configuration map until the test ends.
func write(t *testing.T, ns string) *updates {
	t.Helper()
	maps := apiserver.Client("admin").CoreV1().ConfigMaps(ns)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"text": strings.Repeat("x", eventBytes)}}
	if _, err := maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	done := &updates{}
	writer.Go(func() {
		for pause := time.NewTicker(updateEvery); ctx.Err() == nil; <-pause.C {
			m.ResourceVersion, m.Annotations = "", map[string]string{"at": strconv.FormatInt(time.Now().UnixNano(), 10)}
			if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			done.n.Add(1)
		}
	})
	t.Cleanup(func() { cancel(); writer.Wait() })
	return done
}

func openWatch(t *testing.T, as *rest.Config, ns string, q harness.Request) io.Reader {
	t.Helper()
	raw := harness.RawClientFor(t, as)
	q.Path = "/api/v1/namespaces/" + ns + "/configmaps?watch=1&resourceVersion=0" + q.Path
	var body io.ReadCloser
	harness.Eventually(t, "the right is granted", func() error {
		resp, err := raw.Open(t.Context(), q)
		if err != nil {
			return err
		}
		if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(source, "cache") {
			resp.Body.Close()
			return fmt.Errorf("%s from %s", resp.Status, source)
		}
		body = resp.Body
		return nil
	})
	t.Cleanup(func() { body.Close() })
	return body
}

// result is what a client got from a watch.
type result struct {
	events int
	latest time.Time // when the last object was written
	code   int       // of the ERROR event; 0 for none
	err    error
}

func readEvents(in io.Reader) (r result) {
	events := json.NewDecoder(bufio.NewReader(in))
	for {
		var event struct {
			Type   string
			Object struct {
				Code     int
				Metadata metav1.ObjectMeta
			}
		}
		if r.err = events.Decode(&event); r.err != nil {
			if errors.Is(r.err, io.EOF) {
				r.err = nil
			}
			return r
		}
		if event.Type == "ERROR" {
			r.code = event.Object.Code
			continue
		}
		if at, err := strconv.ParseInt(event.Object.Metadata.Annotations["at"], 10, 64); err == nil {
			r.events++
			r.latest = time.Unix(0, at)
		}
	}
}
