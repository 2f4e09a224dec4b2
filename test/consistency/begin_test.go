package consistency

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"sluice/test/consistency/history"
)

// begin opens a watch without a version. It begins with an event for each object, and each of them
// must be as recent as a get, because nothing tells the client which of them are outdated. Only where the
// apiserver itself answers at the legacy path, it sends what its watch cache has.
func (r *reader) begin(ctx context.Context, kind, path string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	began := r.rec.clock.Now()
	open, err := r.sluice.watch(ctx, path, url.Values{"allowWatchBookmarks": {"true"}, "timeoutSeconds": {"1"}})
	if err != nil {
		return err
	}
	defer open.close()
	last := ""
	for {
		item, end, err := open.next()
		if end || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The state comes in the order of keys. What breaks it is an event after the state.
		if item.Type != history.Added || item.Object.Key <= last {
			return nil
		}
		last = item.Object.Key
		recent := path != r.legacyPath() || strings.Contains(item.Source, ": cache;")
		r.rec.got(kind, history.Get{
			Client: r.name, Source: item.Source, Key: last, Consistency: history.Consistency{MostRecent: recent},
			Began: began, Ended: r.rec.clock.Now(), Object: item.Object,
		})
	}
}

// namespacePath returns the path of the resource in a namespace with changing objects.
func (r *reader) namespacePath() string { return r.path(r.namespaces[0], "") }

// legacyPath returns the deprecated path of a watch of that namespace.
func (r *reader) legacyPath() string {
	return strings.Replace(r.namespacePath(), r.apiVersion()+"/", r.apiVersion()+"/watch/", 1)
}
