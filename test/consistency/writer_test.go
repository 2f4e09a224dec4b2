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

	exists map[string]bool // as far as the writer knows, by path
	number int
}

// run writes until the context ends. It finishes the write that is running.
func (w *writer) run(ctx context.Context) {
	w.exists = map[string]bool{}
	for ctx.Err() == nil {
		if err := w.write(context.WithoutCancel(ctx)); err != nil {
			w.rec.failed("write", err)
			wait(ctx, 50*time.Millisecond) // the apiserver is unreachable
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

// object chooses one of its objects.
func (w *writer) object() (namespace, name string) {
	names := w.names()
	return w.namespaces[w.rnd.IntN(len(w.namespaces))], names[w.rnd.IntN(len(names))]
}

// write creates an object that does not exist, and updates or, more rarely, deletes one that does.
func (w *writer) write(ctx context.Context) error {
	namespace, name := w.object()
	w.number++
	color := colors[w.rnd.IntN(len(colors))]
	path := w.path(namespace, name)
	switch {
	case !w.exists[path]:
		return w.send(ctx, "create", namespace, name, jsonRequest(http.MethodPost, w.path(namespace, ""), w.body(name, color, w.number)))
	case w.rnd.IntN(4) == 0:
		return w.send(ctx, "delete", namespace, name, jsonRequest(http.MethodDelete, path, nil))
	}
	q := jsonRequest(http.MethodPatch, path, w.patch(name, color, w.number))
	q.Header.Set("Content-Type", "application/merge-patch+json")
	return w.send(ctx, "update", namespace, name, q)
}

// send sends one write and records it if it is acknowledged. Whether a failed write was committed
// is unknown.
func (w *writer) send(ctx context.Context, verb, namespace, name string, q harness.Request) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	write := history.Write{Client: w.name, Verb: verb, Key: namespace + "/" + name, Began: w.rec.clock.Now()}
	a, err := w.raw.Do(ctx, q)
	write.Ended = w.rec.clock.Now()
	if err != nil {
		return err
	}
	if a.Status/100 != 2 {
		return w.learn(w.path(namespace, name), newStatusError(a.Status, a.Body))
	}
	w.exists[w.path(namespace, name)] = verb != "delete"
	if write.UID, write.Version, err = acknowledged(a.Body); err != nil {
		return err
	}
	w.rec.wrote(write)
	return nil
}

// learn updates what the writer knows about an object from a failed write.
func (w *writer) learn(path string, err error) error {
	switch {
	case hasReason(err, "AlreadyExists"):
		w.exists[path] = true
	case hasReason(err, "NotFound"):
		w.exists[path] = false
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
