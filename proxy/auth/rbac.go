package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	pause "sluice/proxy/wait"
)

// Opener sends GET requests to the apiserver with Sluice's credentials.
type Opener interface {
	// Open returns a response of status 200; any other status is an error. The caller must close the
	// body.
	Open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error)
}

const (
	rbacPath = "/apis/rbac.authorization.k8s.io/v1/"
	// rbacRetry and rbacRetryMax are the delays between attempts to watch RBAC objects.
	rbacRetry    = time.Second
	rbacRetryMax = 30 * time.Second

	// rbacPage is how many objects a page of a list has at most, firstRBACPage how many the first one, and rbacPageBytes about
	// how long a page is: the apiserver holds it in memory.
	rbacPage, firstRBACPage = 100, 10
	rbacPageBytes           = 4 << 20
	// maxRBACObject bounds one object or event, in bytes: etcd accepts objects of 1.5 MiB, and JSON is up to six times as long.
	maxRBACObject = 32 << 20
	// keptBuffer is the longest event after which the decoder of a watch is kept: its buffer stays as long as the watch is open.
	keptBuffer = 256 << 10
	asJSON     = "application/json"
)

// rbacWatch watches one resource of RBAC objects, and reports the changes of their rules.
type rbacWatch struct {
	resource string
	from     Opener
	rules    *rules
	changes  *changes
	log      *zap.Logger
	version  string // resource version from which the next watch starts; empty to list first
}

// run watches until ctx ends. While it cannot watch, results of reviews are valid until they expire.
func (w *rbacWatch) run(ctx context.Context) {
	backoff := wait.Backoff{Duration: rbacRetry, Factor: 2, Jitter: 0.2, Steps: 10, Cap: rbacRetryMax}
	delay := backoff
	for ctx.Err() == nil {
		err := w.watch(ctx)
		if err == nil || errors.Is(err, io.EOF) { // a watch ends from time to time
			delay = backoff
		} else if ctx.Err() == nil {
			w.log.Warn("watch of access rules failed", zap.String("resource", w.resource), zap.Error(err))
		}
		pause.Pause(ctx, delay.Step())
	}
}

// watch lists if it must, and watches until the watch ends.
func (w *rbacWatch) watch(ctx context.Context) error {
	if w.version == "" {
		w.rules.forget(w.resource)
		if err := w.list(ctx); err != nil {
			return err
		}
		w.changes.happened(scope{}) // any change may have been missed
	}
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {w.version}}
	resp, err := w.from.Open(ctx, rbacPath+w.resource, query, asJSON)
	if err != nil {
		w.lose()
		return err
	}
	defer resp.Body.Close()
	limit := &io.LimitedReader{R: resp.Body}
	in := io.Reader(limit)
	events := json.NewDecoder(in)
	for {
		var event struct {
			Type   string
			Object rbacObject
		}
		limit.N = maxRBACObject
		from := events.InputOffset()
		if err := events.Decode(&event); err != nil {
			return err
		}
		if events.InputOffset()-from > keptBuffer {
			in = io.MultiReader(events.Buffered(), in)
			events = json.NewDecoder(in)
		}
		switch event.Type {
		case "ADDED", "MODIFIED", "DELETED":
			w.changes.happened(w.rules.change(w.resource, &event.Object, event.Type == "DELETED")...)
		case "BOOKMARK":
		default:
			w.lose()
			return fmt.Errorf("event of type %q", event.Type)
		}
		w.version = event.Object.Metadata.ResourceVersion
	}
}

// lose forgets the listed objects, because changes are missed.
func (w *rbacWatch) lose() {
	w.version = ""
	w.rules.forget(w.resource)
}

// list reads all objects, in pages, and the resource version that they show.
func (w *rbacWatch) list(ctx context.Context) error {
	query := url.Values{}
	for size := firstRBACPage; ; {
		query.Set("limit", strconv.Itoa(size))
		resp, err := w.from.Open(ctx, rbacPath+w.resource, query, asJSON)
		if err != nil {
			return err
		}
		meta, length, err := readRBACPage(resp.Body, func(o *rbacObject) { w.rules.add(w.resource, o) })
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		if meta.Continue == "" {
			w.rules.complete(w.resource)
			w.version = meta.ResourceVersion
			return nil
		}
		query.Set("continue", meta.Continue)
		size = min(max(1, int(int64(size)*rbacPageBytes/max(length, 1))), 2*size, rbacPage)
	}
}

// readRBACPage calls add with each object of a page, which are in memory one by one, and returns the length of the page.
func readRBACPage(body io.Reader, add func(*rbacObject)) (meta metav1.ListMeta, length int64, err error) {
	limit := &io.LimitedReader{R: body, N: maxRBACObject}
	in := json.NewDecoder(limit)
	err = members(in, '{', func() error {
		switch name, err := in.Token(); {
		case err != nil:
			return err
		case name == "metadata":
			return in.Decode(&meta)
		case name != "items":
			return in.Decode(&json.RawMessage{})
		}
		return members(in, '[', func() error {
			var o rbacObject
			limit.N = maxRBACObject
			err := in.Decode(&o)
			if err == nil {
				add(&o)
			}
			return err
		})
	})
	if errors.Is(err, io.EOF) { // at the end of a watch it is no fault
		err = io.ErrUnexpectedEOF
	}
	return meta, in.InputOffset(), err
}

// members calls read for each member of an object or array that begins with a delimiter, and reads its end. A list without
// objects may be null.
func members(in *json.Decoder, begin json.Delim, read func() error) error {
	if t, err := in.Token(); err != nil || t == nil && begin == '[' {
		return err
	} else if t != begin {
		return fmt.Errorf("list has %v instead of %v", t, begin)
	}
	for in.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}
