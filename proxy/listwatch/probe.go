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
	"sluice/codec"
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
	version, err = s.verified(ctx, func() (uint64, error) {
		l, err := s.client.listMetadata(ctx, s.probeQuery())
		return l.version, err
	})
	if err != nil {
		return 0, fmt.Errorf("probe: %w", classify(err))
	}
	return version, nil
}

// probeQuery returns the query of a consistent list of which only the version matters. The apiserver
// looks up one key for it, where limit=1 alone makes it walk all keys: 6 ms of CPU with 10,000 pods.
func (s *Session) probeQuery() url.Values {
	key := tree.KeyOf("", "sluice-probe")
	if s.Description().Resource.Namespaced {
		key = tree.KeyOf("default", "sluice-probe")
	}
	query := s.queryOf(cache.Scope{Key: key})
	query.Set("limit", "1") // in case a server ignores the selector
	return query
}

// inventoryTries is how often an inventory begins anew because the apiserver has lost the version that its first pages are of.
const inventoryTries = 2

// Inventory implements fence.Apiserver by a list of the metadata of all objects in the scope, in pages, which are in memory one
// by one.
func (s *Session) Inventory(ctx context.Context, scope cache.Scope, version uint64) (r *cache.Inventory, err error) {
	length := 0
	for range inventoryTries {
		r, err = s.inventory(ctx, scope, version)
		length += r.Bytes
		if version > 0 || !apierrors.IsGone(err) {
			break
		}
	}
	r.Bytes = length
	if err != nil {
		return r, fmt.Errorf("inventory: %w", classify(err))
	}
	if scope == (cache.Scope{}) {
		s.inventoryPage.Store(int64(min(nextPage(r.Len(), length), metadataPage)))
	}
	return r, nil
}

// inventory takes an inventory once. With an error it returns the part that has been read.
func (s *Session) inventory(ctx context.Context, scope cache.Scope, version uint64) (r *cache.Inventory, err error) {
	query := s.queryOf(scope)
	if version > 0 {
		query.Set("resourceVersion", strconv.FormatUint(version, 10))
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	}
	r = &cache.Inventory{Scope: scope}
	pages := s.client.pagesOfMetadata(int(cmp.Or(s.inventoryPage.Load(), firstPage)))
	if version > 0 { // it is more likely to be read from etcd
		pages.size, pages.most = min(pages.size, pageSize), pageSize
	}
	r.Version, err = s.verified(ctx, func() (uint64, error) {
		return pages.readMetadata(ctx, query, func(meta metadata) error {
			key := meta.key()
			if !scope.Range().Contains(key) {
				return nil
			}
			return r.Add(key, meta.version)
		})
	})
	r.Bytes = pages.length
	if err == nil && version > 0 && r.Version != version {
		err = fmt.Errorf("inventory at version %d is of version %d", version, r.Version)
	}
	return r, err
}

// queryOf returns the query of a list of a scope, or of more where the kind has no selector of namespaces (wire.md 4.7).
func (s *Session) queryOf(scope cache.Scope) url.Values {
	var terms []fields.Selector
	if scope.Indexed {
		terms = append(terms, fields.OneTermEqualSelector(discovery.IndexedField, scope.Value))
	}
	if name := scope.Key.Name(); name != "" {
		terms = append(terms, fields.OneTermEqualSelector(discovery.FieldName, name))
	}
	d := s.Description()
	_, selects := d.Fields.Position(discovery.FieldNamespace)
	selects = selects || d.Resource.Style != codec.Typed
	if namespace := cmp.Or(scope.Namespace, scope.Key.Namespace()); namespace != "" && selects {
		terms = append(terms, fields.OneTermEqualSelector(discovery.FieldNamespace, namespace))
	}
	if len(terms) == 0 {
		return url.Values{}
	}
	return url.Values{"fieldSelector": {fields.AndSelectors(terms...).String()}}
}

// verified calls list, which returns the version of a list. It returns an error wrapping cache.ErrDiverged if the CRD has changed
// before that version: the store may not show a write that only the new one allowed. A version of the CRDs that is as new
// is mostly known by the time of the list's.
func (s *Session) verified(ctx context.Context, list func() (uint64, error)) (version uint64, err error) {
	d := s.Description()
	unchanged := make(chan uint64, 1)
	go func() { unchanged <- s.client.discovery.UnchangedAt(ctx, d) }()
	version, err = list()
	if at := <-unchanged; err == nil && at < version {
		err = s.client.discovery.Verify(ctx, d)
	}
	if errors.Is(err, discovery.ErrChanged) {
		err = fmt.Errorf("%w: %w", err, cache.ErrDiverged)
	}
	return version, err
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
	resp, err := c.upstream.Open(ctx, c.path, query, c.acceptMetadata("PartialObjectMetadata"))
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
		if eventType != string(watch.Deleted) {
			meta.object = object
		}
		if !report(isBookmark, meta) {
			return nil
		}
	}
}
