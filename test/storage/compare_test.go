package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"sluice/codec/json"
	"sluice/test/conformance"
	"sluice/test/harness"
)

// tries bounds how often a request is sent again whose object the apiserver may have changed, watchTries how often a
// watch, which may take watchLimit.
const tries, watchTries = 10, 4

// compare sends a GET to both and returns their difference and the source of Sluice's response.
func compare(ctx context.Context, url, accept string) (source string, err error) {
	read := func(c *harness.RawClient) (*harness.Response, error) { return c.Get(ctx, url, accept) }
	return compareBoth(ctx, url, accept, tries, read, func(r *harness.Response) []byte { return conformance.Normalize(r.Body, r.Header, false) })
}

// compareWatch compares the first n events of a watch and returns the source of Sluice's response.
func compareWatch(ctx context.Context, url, accept string, n int) (source string, err error) {
	read := func(c *harness.RawClient) (*harness.Response, error) { return firstEvents(ctx, c, url, accept, n) }
	return compareBoth(ctx, url, accept, watchTries, read, func(r *harness.Response) []byte { return r.Body })
}

// compareBoth reads from both, some times while they differ, and returns their difference and the source of Sluice's
// response. normal returns a body without what may differ.
func compareBoth(ctx context.Context, url, accept string, tries int,
	read func(*harness.RawClient) (*harness.Response, error), normal func(*harness.Response) []byte,
) (source string, err error) {
	for try := range tries {
		if try > 0 {
			meet(ctx, url)
		}
		want, wantErr := read(server.Raw("admin"))
		got, gotErr := read(gateway.Raw("admin"))
		if err = errors.Join(wantErr, gotErr); err != nil {
			continue
		}
		source = got.Header.Get("Sluice-Source")
		if err = difference(want, got, normal); err == nil {
			return source, nil
		}
	}
	return source, fmt.Errorf("%s as %s: %s: %w", url, accept, source, err)
}

// meet waits until the caches of both have reached what is stored now of the collection that a GET
// reads, or of whose object. A failure only makes the next try less promising.
func meet(ctx context.Context, url string) {
	collection, _, _ := strings.Cut(url, "?")
	if !strings.Contains(url, label) { // of an object
		collection = path.Dir(collection)
	}
	now, err := server.Raw("admin").Get(ctx, collection+"?limit=1", inJSON)
	if err != nil {
		return
	}
	version, _ := json.Value(now.Body).Get("metadata", "resourceVersion").Text()
	for _, s := range []interface {
		Raw(user string) *harness.RawClient
	}{server, gateway} {
		_, _ = s.Raw("admin").Get(ctx, collection+"?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion="+version, inJSON)
	}
}

func difference(want, got *harness.Response, normal func(*harness.Response) []byte) error {
	if want.Status != got.Status {
		return fmt.Errorf("status %d, want %d\n got %.300s\nwant %.300s", got.Status, want.Status, got.Body, want.Body)
	}
	if w, g := want.Header.Get("Content-Type"), got.Header.Get("Content-Type"); w != g {
		return fmt.Errorf("content type %s, want %s", g, w)
	}
	if bytes.Equal(want.Body, got.Body) {
		return nil
	}
	return sameBytes(normal(want), normal(got))
}

// sameBytes returns an error that shows the first difference.
func sameBytes(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	around := func(b []byte) []byte { return b[max(0, i-80):min(len(b), i+120)] }
	return fmt.Errorf("at byte %d\n got %q\nwant %q", i, around(got), around(want))
}
