package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	text := fmt.Sprint(w.number)
	switch {
	case !w.exists[w.path(namespace, name)]:
		return w.send(ctx, "create", namespace, name, w.body(name, color, text))
	case w.rnd.IntN(4) == 0:
		return w.send(ctx, "delete", namespace, name, "")
	}
	return w.send(ctx, "update", namespace, name, w.patch(name, color, text))
}

// methods are the methods of the verbs.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPatch, "delete": http.MethodDelete}

// send sends one write and records it if it is acknowledged. Whether a failed write was committed
// is unknown.
func (w *writer) send(ctx context.Context, verb, namespace, name, object string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path, own := w.path(namespace, name), w.path(namespace, name)
	if verb == "create" {
		path = w.path(namespace, "")
	}
	write := history.Write{Client: w.name, Verb: verb, Key: namespace + "/" + name, Began: w.rec.clock.Now()}
	a, err := w.raw.Write(ctx, methods[verb], path, object)
	write.Ended = w.rec.clock.Now()
	if a.Status != 0 && err != nil {
		err = newStatusError(a.Status, a.Body)
	}
	switch {
	case err == nil:
		w.exists[own] = verb != "delete"
	case apierrors.IsAlreadyExists(err):
		w.exists[own] = true
	case apierrors.IsNotFound(err):
		w.exists[own] = false
	}
	if err == nil {
		write.UID, write.Version, err = acknowledged(a.Body)
	}
	if err == nil {
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
