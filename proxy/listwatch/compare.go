package listwatch

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"sluice/cache"
	"sluice/cache/tree"
)

// Compare compares the keys and resource versions of the store's objects with those of the apiserver
// at the same version. It returns ErrMismatch if they differ.
func (c *Client) Compare(ctx context.Context, store *cache.Store) error {
	state := store.Snapshot()
	next, stop := iter.Pull(state.Objects(tree.Range{}))
	defer stop()
	query := url.Values{
		"resourceVersion": {strconv.FormatUint(state.Version, 10)}, "resourceVersionMatch": {"Exact"},
		"limit": {strconv.Itoa(pageSize)},
	}
	for query != nil {
		e, page, err := c.listMetadata(ctx, query)
		if err != nil {
			return err
		}
		for item, err := range page.items {
			if err != nil {
				return err
			}
			meta, err := e.metadata(item)
			if err != nil {
				return err
			}
			if o, ok := next(); !ok || o.Key != meta.key() || o.RV != meta.version {
				return fmt.Errorf("at version %d the apiserver has %s at %d: %w", state.Version, meta.key(), meta.version, ErrMismatch)
			}
		}
		query = page.next(pageSize)
	}
	if o, more := next(); more {
		return fmt.Errorf("at version %d the apiserver has no %s: %w", state.Version, o.Key, ErrMismatch)
	}
	return nil
}

// next returns the query for the page of some objects after l, or nil.
func (l *list) next(objects int) url.Values {
	if l.continues == "" {
		return nil
	}
	return url.Values{"limit": {strconv.Itoa(objects)}, "continue": {l.continues}}
}
