package resources

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"go.uber.org/zap"

	"sluice/cache"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// checkEvery is the least time between two comparisons of a store with the
// upstream; as much again is added at random, so that replicas and resources
// spread out.
const checkEvery = 5 * time.Minute

var errMismatch = errors.New("the store differs from the upstream")

// checkUntil compares a collection with the upstream now and then, until its
// store ends. A difference cannot be explained and must not be served: the
// store is given up.
func (m *Registry) checkUntil(ctx context.Context, e *entry, c *CachedResource, src *source, log *zap.Logger) {
	for {
		t := time.NewTimer(m.options.CheckEvery + rand.N(m.options.CheckEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-c.Store.Done():
			t.Stop()
			return
		case <-t.C:
		}
		switch err := src.compare(ctx, c.Store); {
		case errors.Is(err, errMismatch):
			e.mismatches.Add(1)
			log.Error("store is given up", zap.Error(err))
			e.feed.Rebuild(err)
			return
		case err != nil && ctx.Err() == nil:
			log.Info("store could not be compared with the upstream", zap.Error(err))
		}
	}
}

// compare holds the keys and versions of the store against those of the
// upstream at the same version.
func (s *source) compare(ctx context.Context, store *cache.Store) error {
	state := store.Snapshot()
	here, stop := iter.Pull(state.Objects(cache.Range{}))
	defer stop()
	query := url.Values{
		"resourceVersion": {strconv.FormatUint(state.Version, 10)}, "resourceVersionMatch": {"Exact"},
		"limit": {strconv.Itoa(pageSize)},
	}
	for {
		body, header, err := s.get(ctx, collectionPath(s.gvr), query, metadataAs("PartialObjectMetadataList"))
		if err != nil {
			return err
		}
		next, err := identities(body, isProtobuf(header), func(there identity) error {
			o, ok := here()
			if !ok || o.Key != there.key || o.RV != there.version {
				return fmt.Errorf("at version %d the upstream has %s at %d: %w", state.Version, there.key, there.version, errMismatch)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if next == "" {
			break
		}
		query = url.Values{"limit": query["limit"], "continue": {next}}
	}
	if o, more := here(); more {
		return fmt.Errorf("at version %d the upstream has no %s: %w", state.Version, o.Key, errMismatch)
	}
	return nil
}

// identity is what a comparison looks at.
type identity struct {
	key     cache.Key
	version uint64
}

// identities calls yield with each item of a list of metadata and returns the
// token of the next page.
func identities(body []byte, protobuf bool, yield func(identity) error) (next string, err error) {
	if protobuf {
		return protoIdentities(body, yield)
	}
	for _, item := range json.Value(body).Get("items").Elements {
		meta, err := json.ParseObjectMeta(item)
		if err != nil {
			return "", err
		}
		if err := identify(meta.Namespace, meta.Name, meta.ResourceVersion, yield); err != nil {
			return "", err
		}
	}
	next, _ = json.Value(body).Get("metadata", "continue").Text()
	return next, nil
}

func protoIdentities(body []byte, yield func(identity) error) (next string, err error) {
	u, err := proto.ParseEnvelope(body)
	if err != nil {
		return "", err
	}
	list, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return "", err
	}
	for item, err := range proto.Items(u.Raw) {
		if err != nil {
			return "", err
		}
		meta, err := proto.ParseObjectMeta(item)
		if err != nil {
			return "", err
		}
		if err := identify(meta.Namespace, meta.Name, meta.ResourceVersion, yield); err != nil {
			return "", err
		}
	}
	return string(list.Continue), nil
}

func identify(namespace, name, rv []byte, yield func(identity) error) error {
	version, err := parseVersion(rv)
	if err != nil {
		return err
	}
	return yield(identity{cache.KeyOf(string(namespace), string(name)), version})
}
