package consistency

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/test/consistency/history"
)

// client is a client of one resource.
type client struct {
	resource
	name   string
	server *server
	rec    *recorder
	rnd    *rand.Rand
}

// reader sends reads of every kind, one after the other.
type reader struct {
	client
	apiserver  *server
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
		s := k.scope(r)
		if s.Namespace == "" {
			s.Namespaces = r.some
		}
		q := query(s)
		if err := k.read(r, ctx, k.name, s, k.consistency(r, q), q); err != nil && ctx.Err() == nil {
			r.rec.failed(k.name, err)
			wait(ctx, 50*time.Millisecond)
		}
		r.rest(ctx)
	}
}

func (r *reader) choose() kind {
	for {
		k := r.kinds[r.rnd.IntN(len(r.kinds))]
		if (r.custom() || k.name != byFieldOnly) && (r.some == "" || !strings.HasSuffix(k.name, twoServers)) {
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

// begun returns a read that begins now.
func (c *client) begun(s history.Scope, p history.Consistency) history.Read {
	return history.Read{Client: c.name, Scope: s, Consistency: p, Began: c.rec.clock.Now()}
}

// nextPage adds the next page to a read, with compression in every third response. It returns the continue token.
func (c *client) nextPage(ctx context.Context, from *server, read *history.Read, q url.Values) (next string, err error) {
	page, next, err := from.list(ctx, c.path(read.Scope.Namespace, ""), q, c.rnd.IntN(3) == 0)
	if err == nil {
		page.Limit, _ = strconv.Atoi(q.Get("limit"))
		read.Pages, read.Ended = append(read.Pages, page), c.rec.clock.Now()
	}
	return next, err
}

// list sends a list without a limit, and returns its version.
func (c *client) list(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) (version uint64, err error) {
	read := c.begun(s, p)
	next, err := c.nextPage(ctx, c.server, &read, q)
	if err == nil && next != "" {
		err = errors.New("a continue token without a limit")
	}
	if err != nil {
		return 0, err
	}
	c.rec.listed(kind, read)
	return read.Pages[0].Version, nil
}

// whole is list as a kind of read.
func (r *reader) whole(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) error {
	_, err := r.list(ctx, kind, s, p, q)
	return err
}

const (
	// pageTries bounds the requests for one page.
	pageTries = 5
	// betweenPages is the maximum time between two pages.
	betweenPages = 30 * time.Millisecond
)

// pages sends a list with a limit, whose pages come from the apiserver, too, if the kind is one of two servers.
func (r *reader) pages(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) error {
	limit := strconv.Itoa(1 + r.rnd.IntN(2*r.page))
	read := r.begun(s, p)
	for more := true; more; wait(ctx, upTo(r.rnd, betweenPages)) {
		q.Set("limit", limit)
		next, err := r.onePage(ctx, kind, &read, q)
		if err != nil {
			return err
		}
		more = next != "" && !repeats(read.Pages)
		q = query(s)
		q.Set("continue", next)
	}
	r.rec.listed(kind, read)
	return nil
}

// repeats reports whether the last page begins before the end of an earlier one: such a list may never
// end.
func repeats(pages []history.Page) bool {
	last := pages[len(pages)-1]
	return len(last.Items) > 0 && slices.ContainsFunc(pages[:len(pages)-1], func(p history.Page) bool {
		return len(p.Items) > 0 && last.Items[0].Key <= p.Items[len(p.Items)-1].Key
	})
}

func (r *reader) onePage(ctx context.Context, kind string, read *history.Read, q url.Values) (next string, err error) {
	for range pageTries {
		from := r.server
		if strings.HasSuffix(kind, twoServers) && r.rnd.IntN(2) == 0 {
			from = r.apiserver
		}
		next, err = r.nextPage(ctx, from, read, q)
		if err == nil || gone(err) || ctx.Err() != nil {
			break
		}
		r.rec.failed(kind, err)
		wait(ctx, 100*time.Millisecond)
	}
	return next, err
}

// stream sends a streaming list and reads it up to the end of the initial events.
func (r *reader) stream(ctx context.Context, kind string, s history.Scope, p history.Consistency, q url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	read := r.begun(s, p)
	open, err := r.server.watch(ctx, r.path(s.Namespace, ""), streaming(q))
	if err != nil {
		return err
	}
	defer open.close()
	_, err = r.streamed(kind, read, open)
	return err
}

// streaming adds the parameters of a streaming list.
func streaming(q url.Values) url.Values {
	q.Set("sendInitialEvents", "true")
	q.Set("resourceVersionMatch", "NotOlderThan")
	q.Set("allowWatchBookmarks", "true")
	return q
}

// streamed reads a streaming list up to the end of the initial events, and returns its version.
func (c *client) streamed(kind string, read history.Read, open *events) (version uint64, err error) {
	for {
		item, end, err := open.next()
		if err != nil {
			return 0, err
		}
		item.At = c.rec.clock.Now()
		read.Stream = append(read.Stream, item)
		if end {
			read.Ended = c.rec.clock.Now()
			c.rec.listed(kind, read)
			return item.Version, nil
		}
	}
}

// get sends a get, or several at the same time, which may share a proof. These are sent twice: Sluice knows by
// the answer to the first that the apiserver allows the second.
func (r *reader) get(ctx context.Context, kind string, _ history.Scope, p history.Consistency, q url.Values) error {
	q.Del("resourceVersionMatch") // a get does not accept it
	gets, times := 1, 1
	if kind == getSeveral {
		gets, times = 8, 2
	}
	var all errgroup.Group
	for range gets {
		namespace, name := r.namespace(), r.object()
		all.Go(func() (err error) {
			for range times {
				err = errors.Join(err, r.getOne(ctx, kind, namespace, name, p, q))
			}
			return err
		})
	}
	return all.Wait()
}

func (r *reader) getOne(ctx context.Context, kind, namespace, name string, p history.Consistency, q url.Values) error {
	get := history.Get{Client: r.name, Key: namespace + "/" + name, Consistency: p, Began: r.rec.clock.Now()}
	body, source, err := r.server.get(ctx, r.path(namespace, name), q, false)
	get.Ended, get.Source = r.rec.clock.Now(), source
	var status *apierrors.StatusError
	switch {
	case apierrors.IsNotFound(err) && errors.As(err, &status) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Name == name:
		// NotFound is an answer.
	case err != nil:
		return err
	default:
		if get.Object, err = object(body); err != nil {
			return err
		}
	}
	r.rec.got(kind, get)
	return nil
}

// begin opens a watch without a version. It begins with an event for each object, and each of them
// must be as recent as a get, because nothing tells the client which of them are outdated. Only where the
// apiserver itself answers at the legacy path, it sends what its watch cache has.
func (r *reader) begin(ctx context.Context, kind string, s history.Scope, _ history.Consistency, _ url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path := r.path(s.Namespace, "")
	if kind == legacyWatch {
		path = strings.Replace(path, r.apiVersion()+"/", r.apiVersion()+"/watch/", 1)
	}
	began := r.rec.clock.Now()
	open, err := r.server.watch(ctx, path, url.Values{"allowWatchBookmarks": {"true"}, "timeoutSeconds": {"1"}})
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
		recent := kind != legacyWatch || strings.Contains(item.Source, ": cache;")
		r.rec.got(kind, history.Get{
			Client: r.name, Source: item.Source, Key: last, Consistency: history.Consistency{MostRecent: recent},
			Began: began, Ended: r.rec.clock.Now(), Object: item.Object,
		})
	}
}

func (r *reader) namespace() string { return r.namespaces[r.rnd.IntN(len(r.namespaces))] }
func (r *reader) object() string    { return r.names[r.rnd.IntN(len(r.names))] }
