package consistency

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/consistency/history"
)

// reader sends reads of every kind, one after the other.
type reader struct {
	resource
	name       string
	sluice     *server
	apiserver  *server
	rec        *recorder
	rnd        *rand.Rand
	namespaces []string
	names      []string      // of objects that may exist
	page       int           // average limit of pages
	pause      time.Duration // maximum between reads
	kinds      []kind
	some       string // the namespaces that the reader may read, as history.Scope has them; empty for all
}

// run reads until the context ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		k := r.choose()
		if err := k.read(r, ctx, k.name); err != nil && ctx.Err() == nil {
			r.rec.failed(k.name, err)
			wait(ctx, 50*time.Millisecond)
		}
		r.rest(ctx)
	}
}

func (r *reader) choose() kind {
	for {
		k := r.kinds[r.rnd.IntN(len(r.kinds))]
		if (r.custom() || !k.custom) && (r.some == "" || !strings.HasSuffix(k.name, "two servers")) {
			return k
		}
	}
}

// rest waits before the next read. In half of the cases it waits for the next write, because a read
// right after a write is the one that may miss it.
func (r *reader) rest(ctx context.Context) {
	limit := upTo(r.rnd, r.pause)
	if r.rnd.IntN(2) == 0 {
		wait(ctx, limit)
		return
	}
	t := time.NewTimer(4 * limit)
	defer t.Stop()
	select {
	case <-r.rec.acknowledged():
	case <-t.C:
	case <-ctx.Done():
	}
}

// compressed chooses compression for every third response.
func (r *reader) compressed() bool { return r.rnd.IntN(3) == 0 }

// query returns the parameters of a scope, except its namespace.
func query(s history.Scope) url.Values {
	q := url.Values{}
	if s.Labels != "" {
		q.Set("labelSelector", s.Labels)
	}
	if s.Fields != "" {
		q.Set("fieldSelector", s.Fields)
	}
	return q
}

// list sends a list without a limit.
func (r *reader) list(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) error {
	read := history.Read{Client: r.name, Scope: s, Consistency: p, Began: r.rec.clock.Now()}
	page, next, err := r.sluice.list(ctx, r.path(s.Namespace, ""), q, r.compressed())
	if err != nil {
		return err
	}
	if next != "" {
		return errors.New("a continue token without a limit")
	}
	read.Pages, read.Ended = []history.Page{page}, r.rec.clock.Now()
	r.rec.listed(kind, read)
	return nil
}

const (
	// pageTries bounds the requests for one page.
	pageTries = 5
	// betweenPages is the maximum time between two pages.
	betweenPages = 30 * time.Millisecond
)

// pages sends a list with a limit. Each page comes from the server that from returns.
func (r *reader) pages(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values, from func() *server) error {
	limit := 1 + r.rnd.IntN(2*r.page)
	q.Set("limit", strconv.Itoa(limit))
	read := history.Read{Client: r.name, Scope: s, Consistency: p, Began: r.rec.clock.Now()}
	for {
		page, next, err := r.onePage(ctx, kind, s, q, from)
		if err != nil {
			return err
		}
		page.Limit = limit
		repeats := repeats(read.Pages, page)
		read.Pages = append(read.Pages, page)
		if next == "" || repeats {
			break
		}
		q = query(s)
		q.Set("limit", strconv.Itoa(limit))
		q.Set("continue", next)
		wait(ctx, upTo(r.rnd, betweenPages))
	}
	read.Ended = r.rec.clock.Now()
	r.rec.listed(kind, read)
	return nil
}

// repeats reports whether a page begins before the end of an earlier page: such a list may never
// end.
func repeats(pages []history.Page, next history.Page) bool {
	for _, p := range pages {
		if len(p.Items) > 0 && len(next.Items) > 0 && next.Items[0].Key <= p.Items[len(p.Items)-1].Key {
			return true
		}
	}
	return false
}

func (r *reader) onePage(ctx context.Context, kind string, s history.Scope, q url.Values, from func() *server) (page history.Page, next string, err error) {
	for range pageTries {
		page, next, err = from().list(ctx, r.path(s.Namespace, ""), q, r.compressed())
		if err == nil || gone(err) || ctx.Err() != nil {
			break
		}
		r.rec.failed(kind, err)
		wait(ctx, 100*time.Millisecond)
	}
	return page, next, err
}

// stream sends a streaming list and reads it up to the end of the initial events.
func (r *reader) stream(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	read := history.Read{Client: r.name, Scope: s, Consistency: p, Began: r.rec.clock.Now()}
	open, err := r.sluice.watch(ctx, r.path(s.Namespace, ""), streaming(q))
	if err != nil {
		return err
	}
	defer open.close()
	if read.Stream, err = initialEvents(open, r.rec.clock); err != nil {
		return err
	}
	read.Ended = r.rec.clock.Now()
	r.rec.listed(kind, read)
	return nil
}

// streaming adds the parameters of a streaming list.
func streaming(q url.Values) url.Values {
	q.Set("sendInitialEvents", "true")
	q.Set("resourceVersionMatch", "NotOlderThan")
	q.Set("allowWatchBookmarks", "true")
	return q
}

// initialEvents reads a watch up to the end of the initial events.
func initialEvents(open *events, clock *history.Clock) ([]history.Item, error) {
	var items []history.Item
	for {
		item, end, err := open.next()
		if err != nil {
			return nil, err
		}
		item.At = clock.Now()
		items = append(items, item)
		if end {
			return items, nil
		}
	}
}

// get sends n gets at the same time, which may share a proof. Several are sent twice: Sluice knows by the
// answer to the first that the apiserver allows the second.
func (r *reader) get(ctx context.Context, kind string, n int, p history.Consistency, q url.Values) error {
	var all errgroup.Group
	for range n {
		namespace, name := r.namespace(), r.object()
		all.Go(func() error {
			err := r.getOne(ctx, kind, namespace, name, p, q)
			if err == nil && n > 1 {
				err = r.getOne(ctx, kind, namespace, name, p, q)
			}
			return err
		})
	}
	return all.Wait()
}

func (r *reader) getOne(ctx context.Context, kind, namespace, name string, p history.Consistency, q url.Values) error {
	get := history.Get{Client: r.name, Key: namespace + "/" + name, Consistency: p, Began: r.rec.clock.Now()}
	body, source, err := r.sluice.get(ctx, r.path(namespace, name), q, false)
	get.Ended, get.Source = r.rec.clock.Now(), source
	var status *statusError
	switch {
	case errors.As(err, &status) && status.Reason == "NotFound" && status.Details.Name == name:
		// NotFound is an answer.
	case err != nil:
		return err
	default:
		if get.Object, err = decoded.object(body); err != nil {
			return err
		}
	}
	r.rec.got(kind, get)
	return nil
}

func (r *reader) namespace() string { return r.namespaces[r.rnd.IntN(len(r.namespaces))] }
func (r *reader) object() string    { return r.names[r.rnd.IntN(len(r.names))] }
