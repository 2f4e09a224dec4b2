package listwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/cache/tree"
	"sluice/proxy/discovery"
)

const (
	// secondWatchSeconds is the timeout of a second watch: the shortest for which an apiserver sends a
	// bookmark before the end (wire.md 7.6).
	secondWatchSeconds = "3"
	// probeReadAhead is the size of a second watch's buffer, in bytes.
	probeReadAhead = 4 << 10
)

// Probe implements fence.Apiserver. The list also makes the apiserver's own watch cache advance, without
// which a second watch would receive no bookmark.
func (s *Session) Probe(ctx context.Context) (version uint64, err error) {
	_, list, err := s.listVerified(ctx, probeQuery(s.Description().Resource.Namespaced))
	if err != nil {
		return 0, fmt.Errorf("probe: %w", classify(err))
	}
	return list.version, nil
}

// probeQuery returns the query of a consistent list of which only the version matters. The apiserver
// looks up one key for it, where limit=1 alone makes it walk all keys: 6 ms of CPU with 10,000 pods.
func probeQuery(namespaced bool) url.Values {
	key := tree.KeyOf("", "sluice-probe")
	if namespaced {
		key = tree.KeyOf("default", "sluice-probe")
	}
	query := queryOf(cache.Scope{Key: key})
	query.Set("limit", "1") // in case a server ignores the selector
	return query
}

// Inventory implements fence.Apiserver by a list of the metadata of all objects in the scope: at exactly a version in
// pages, which are in memory one by one.
func (s *Session) Inventory(ctx context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error) {
	r, query := &cache.Inventory{Scope: scope}, queryOf(scope)
	if version > 0 {
		query.Set("resourceVersion", strconv.FormatUint(version, 10))
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		query.Set("limit", strconv.Itoa(pageSize))
	}
	for query != nil {
		e, page, err := s.listVerified(ctx, query)
		if err == nil {
			err = addPage(r, e, page)
		}
		if err != nil {
			return nil, fmt.Errorf("inventory: %w", classify(err))
		}
		query = page.next(pageSize)
	}
	if version > 0 && r.Version != version {
		return nil, fmt.Errorf("inventory at version %d is of version %d", version, r.Version)
	}
	return r, nil
}

// addPage adds a page of a list to an inventory.
func addPage(r *cache.Inventory, e encoding, page list) error {
	r.Version = page.version
	r.Bytes += page.size
	for item, err := range page.items {
		if err != nil {
			return err
		}
		meta, err := e.metadata(item)
		if err != nil {
			return err
		}
		if err := r.Add(meta.key(), meta.version); err != nil {
			return err
		}
	}
	return nil
}

// queryOf returns the query of a list of a scope.
func queryOf(scope cache.Scope) url.Values {
	var terms []fields.Selector
	if scope.Indexed {
		terms = append(terms, fields.OneTermEqualSelector(discovery.IndexedField, scope.Value))
	}
	if name := scope.Key.Name(); name != "" {
		terms = append(terms, fields.OneTermEqualSelector(discovery.FieldName, name))
	}
	if namespace := cmp.Or(scope.Namespace, scope.Key.Namespace()); namespace != "" {
		terms = append(terms, fields.OneTermEqualSelector(discovery.FieldNamespace, namespace))
	}
	if len(terms) == 0 {
		return url.Values{}
	}
	return url.Values{"fieldSelector": {fields.AndSelectors(terms...).String()}}
}

// listVerified lists metadata. It returns an error wrapping cache.ErrDiverged if the CRD has changed
// before the version of the list: the store may not show a write that only the new one allowed. A
// version of the CRDs that is as new is mostly known by the time of the list's.
func (s *Session) listVerified(ctx context.Context, query url.Values) (encoding, list, error) {
	d := s.Description()
	unchanged := make(chan uint64, 1)
	go func() { unchanged <- s.client.discovery.UnchangedAt(ctx, d) }()
	e, l, err := s.client.listMetadata(ctx, query)
	if at := <-unchanged; err == nil && at < l.version {
		err = s.client.discovery.Verify(ctx, d)
	}
	if errors.Is(err, discovery.ErrChanged) {
		err = fmt.Errorf("%w: %w", err, cache.ErrDiverged)
	}
	return e, l, err
}

// SecondWatch implements fence.Apiserver.
func (s *Session) SecondWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	return s.probeEvents(ctx, version, func(isBookmark bool, meta metadata) bool {
		if isBookmark {
			bookmark(meta.version)
		} else {
			event(meta.version)
		}
		return true
	})
}

// Changes returns the events after version from, up to until, in ascending order; with an error, which wraps
// reflector.ErrExpired if there are more than most, perhaps not all of them. It is slower the less happens: the bookmark that shows that nothing more comes takes a second.
func (s *Session) Changes(ctx context.Context, from, until uint64, most int) ([]cache.Change, error) {
	var changes []cache.Change
	complete := false
	err := s.probeEvents(ctx, from, func(isBookmark bool, meta metadata) bool {
		if !isBookmark && meta.version <= until {
			if len(changes) == most {
				return false
			}
			changes = append(changes, cache.Change{RV: meta.version, Key: meta.key()})
			return true
		}
		// The first of several events at one version may be followed by a bookmark at that version.
		shared := len(changes) > 0 && changes[len(changes)-1].RV == until
		complete = meta.version > until || isBookmark && meta.version == until && !shared
		return !complete
	})
	switch {
	case complete:
		return changes, nil
	case err == nil:
		err = fmt.Errorf("more than %d events: %w", most, reflector.ErrExpired)
	}
	return changes, classify(err)
}

// probeEvents calls report with the metadata of each event and bookmark of a second watch, until report
// returns false.
func (s *Session) probeEvents(ctx context.Context, version uint64, report func(isBookmark bool, meta metadata) bool) error {
	err := s.client.watchMetadata(ctx, version, url.Values{"timeoutSeconds": {secondWatchSeconds}}, func() {}, report)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("second watch: %w", err)
	}
	return err
}

// watchMetadata calls opened when a watch is open, and then report with the metadata of each event and bookmark after a version,
// until report returns false. The error is io.EOF at the end of the watch.
func (c *Client) watchMetadata(
	ctx context.Context, version uint64, query url.Values, opened func(), report func(isBookmark bool, meta metadata) bool,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("resourceVersion", strconv.FormatUint(version, 10))
	resp, err := c.upstream.Open(ctx, c.path, query, acceptMetadata("PartialObjectMetadata"))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	e, err := encodingOf(resp.Header)
	if err != nil {
		return err
	}
	opened()
	events := e.events(resp.Body, probeReadAhead)
	for {
		eventType, object, err := events.next()
		if err != nil {
			return err
		}
		if eventType == string(watch.Error) { // of status 200: the apiserver has no other way to say 410 here (wire.md 7.7)
			status, err := e.status(object)
			if err == nil {
				err = &apierrors.StatusError{ErrStatus: status}
			}
			return err
		}
		isBookmark := eventType == string(watch.Bookmark)
		if _, changes := typeOf(eventType); !changes && !isBookmark {
			return fmt.Errorf("received %s", eventType)
		}
		meta, err := e.metadata(object)
		if err != nil {
			return err
		}
		if !report(isBookmark, meta) {
			return nil
		}
	}
}
