package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

	// rbacPage is how many objects are listed at a time.
	rbacPage = "100"
	asJSON   = "application/json"
)

// rbacWatch watches one resource of RBAC objects, and reports the changes of what they allow.
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
	events := json.NewDecoder(resp.Body)
	for {
		var event struct {
			Type   string
			Object rbacObject
		}
		if err := events.Decode(&event); err != nil {
			return err
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

// lose forgets what was listed, because changes are missed.
func (w *rbacWatch) lose() {
	w.version = ""
	w.rules.forget(w.resource)
}

// list reads all objects, in pages, and the resource version that they show.
func (w *rbacWatch) list(ctx context.Context) error {
	query := url.Values{"limit": {rbacPage}}
	for {
		resp, err := w.from.Open(ctx, rbacPath+w.resource, query, asJSON)
		if err != nil {
			return err
		}
		var page struct {
			Metadata metav1.ListMeta
			Items    []rbacObject
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		last := page.Metadata.Continue == ""
		if w.rules.list(w.resource, page.Items, last); last {
			w.version = page.Metadata.ResourceVersion
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}
