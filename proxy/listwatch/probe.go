package listwatch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/watch"

	"sluice/cache"
	"sluice/proxy/discovery"
)

const (
	// probeWatchSeconds is the timeout of a probe watch: the shortest for which an apiserver sends a
	// bookmark before the end (wire.md 7.6).
	probeWatchSeconds = "3"
	// probeReadAhead is the size of a probe watch's buffer, in bytes.
	probeReadAhead = 4 << 10
)

// Probe implements cache.Prober by a consistent list with limit=1. The list also makes the
// apiserver's own watch cache advance, without which a probe watch would receive no bookmark.
func (s *Session) Probe(ctx context.Context) (uint64, error) {
	_, list, err := s.listVerified(ctx, url.Values{"limit": {"1"}})
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	return list.version, nil
}

// RollCall implements cache.Prober by a consistent list of the metadata of all objects.
func (s *Session) RollCall(ctx context.Context) (*cache.RollCall, error) {
	e, list, err := s.listVerified(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("roll call: %w", err)
	}
	if list.continues != "" {
		return nil, errors.New("roll call received a part of the list")
	}
	r := &cache.RollCall{Version: list.version, Bytes: list.size}
	for item, err := range list.items {
		if err != nil {
			return nil, fmt.Errorf("roll call: %w", err)
		}
		meta, err := e.metadata(item)
		if err != nil {
			return nil, fmt.Errorf("roll call: %w", err)
		}
		if err := r.Add(meta.key(), meta.version); err != nil {
			return nil, fmt.Errorf("roll call: %w", err)
		}
	}
	return r, nil
}

// listVerified lists metadata. It returns an error wrapping cache.ErrDiverged if the CRD has changed:
// the store may not show a write that only the new one allowed.
func (s *Session) listVerified(ctx context.Context, query url.Values) (encoding, list, error) {
	e, l, err := s.client.listMetadata(ctx, query)
	if err == nil {
		err = s.client.discovery.Verify(ctx, s.Description())
	}
	if errors.Is(err, discovery.ErrChanged) {
		err = fmt.Errorf("%w: %w", err, cache.ErrDiverged)
	}
	return e, l, err
}

// ProbeWatch implements cache.Prober.
func (s *Session) ProbeWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {probeWatchSeconds},
		"resourceVersion": {strconv.FormatUint(version, 10)},
	}
	resp, err := s.client.upstream.Open(ctx, s.client.path, query, acceptMetadata("PartialObjectMetadata"))
	if err != nil {
		return fmt.Errorf("probe watch: %w", err)
	}
	defer resp.Body.Close()
	e, err := encodingOf(resp.Header)
	if err != nil {
		return fmt.Errorf("probe watch: %w", err)
	}
	events := e.events(resp.Body, probeReadAhead)
	for {
		eventType, object, err := events.next()
		if err != nil {
			return err
		}
		report := event
		if _, changes := typeOf(eventType); eventType == string(watch.Bookmark) {
			report = bookmark
		} else if !changes {
			return fmt.Errorf("probe watch received %s", eventType)
		}
		meta, err := e.metadata(object)
		if err != nil {
			return err
		}
		report(meta.version)
	}
}
