package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// writer changes its own objects directly at the apiserver, one after the other.
type writer struct {
	resource
	name       string
	raw        *harness.RawClient
	rec        *recorder
	rnd        *rand.Rand
	namespaces []string
	objects    int           // number of objects in each namespace
	pause      time.Duration // maximum between writes
}

// run writes until the context ends. It finishes the write that is running.
func (w *writer) run(ctx context.Context) {
	names := w.names()
	for number := 0; ctx.Err() == nil; number++ {
		namespace, name := w.namespaces[w.rnd.IntN(len(w.namespaces))], names[w.rnd.IntN(len(names))]
		body := w.body(name, colors[w.rnd.IntN(len(colors))], fmt.Sprint(number))
		if w.rnd.IntN(4) == 0 {
			body = ""
		}
		if err := w.send(context.WithoutCancel(ctx), namespace, name, body); err != nil {
			w.rec.failed("write", err)
			wait(ctx, 50*time.Millisecond) // the apiserver is unreachable, or the object does not exist
		}
		wait(ctx, upTo(w.rnd, w.pause))
	}
}

// names returns the names of its objects, the same in each namespace.
func (w *writer) names() []string {
	var all []string
	for n := range w.objects {
		all = append(all, fmt.Sprintf("%s-%d", w.name, n))
	}
	return all
}

// send creates or updates an object by server-side apply, or deletes it if the body is empty. It records the write if it is
// acknowledged. Whether a failed write was committed is unknown.
func (w *writer) send(ctx context.Context, namespace, name, body string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q := harness.Request{Method: http.MethodDelete, Path: w.path(namespace, name)}
	if body != "" {
		q.Method, q.Path, q.Body = http.MethodPatch, q.Path+"?fieldManager=writer", []byte(body)
		q.Header = http.Header{"Content-Type": {"application/apply-patch+yaml"}}
	}
	write := history.Write{Client: w.name, Verb: q.Method, Key: namespace + "/" + name, Began: w.rec.clock.Now()}
	a, err := w.raw.Do(ctx, q)
	if err != nil {
		return err
	}
	write.Ended = w.rec.clock.Now()
	if a.Status >= http.StatusBadRequest {
		return newStatusError(a.Status, a.Body)
	}
	if write.UID, write.Version, err = acknowledged(a.Body); err == nil {
		w.rec.wrote(write)
	}
	return err
}

// acknowledged decodes the response to a write: the object, or for a deletion a Status with only
// its UID.
func acknowledged(body []byte) (uid string, version uint64, err error) {
	var o struct {
		Kind     string
		Metadata struct{ UID, ResourceVersion string }
		Details  struct{ UID string }
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return "", 0, err
	}
	if o.Kind == "Status" {
		return o.Details.UID, 0, nil
	}
	version, err = strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	return o.Metadata.UID, version, err
}
