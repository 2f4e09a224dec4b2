package storage

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"sluice/codec/json"
	"sluice/test/conformance"
	"sluice/test/harness"
)

// tries bounds how often a request is sent again whose object the apiserver may have changed.
const tries = 10

// compare sends a GET to both and returns their difference and the source of Sluice's response.
func compare(ctx context.Context, url, accept string) (source string, err error) {
	for try := range tries {
		if try > 0 {
			meet(ctx, url)
		}
		var want, got *harness.Response
		if want, err = server.Raw("admin").Get(ctx, url, accept); err != nil {
			return "", err
		}
		if got, err = gateway.Raw("admin").Get(ctx, url, accept); err != nil {
			return "", err
		}
		source = got.Header.Get("Sluice-Source")
		if err = difference(want, got); err == nil {
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

func difference(want, got *harness.Response) error {
	if want.Status != got.Status {
		return fmt.Errorf("status %d, want %d\n got %.300s\nwant %.300s", got.Status, want.Status, got.Body, want.Body)
	}
	if w, g := want.Header.Get("Content-Type"), got.Header.Get("Content-Type"); w != g {
		return fmt.Errorf("content type %s, want %s", g, w)
	}
	if bytes.Equal(want.Body, got.Body) {
		return nil
	}
	return sameBytes(conformance.Normalize(want.Body, want.Header, false), conformance.Normalize(got.Body, got.Header, false))
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

// sameEvents compares the events of two watches, each sorted.
func sameEvents(want, got [][]byte) error {
	for i := range min(len(want), len(got)) {
		if err := sameBytes(want[i], got[i]); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("%d events, want %d", len(got), len(want))
	}
	return nil
}
