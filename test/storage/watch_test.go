package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"sluice/test/conformance"
	"sluice/test/harness"
)

// watchLimit bounds how long the initial events of a watch may take.
const watchLimit = time.Minute

// watchTries is tries for watches, each of which may take watchLimit.
const watchTries = 4

// compareWatch compares the first n events of a watch and returns the source of Sluice's response.
func compareWatch(ctx context.Context, path, accept string, n int) (source string, err error) {
	for try := range watchTries {
		if try > 0 {
			meet(ctx, path)
		}
		want, wantErr := openWatch(ctx, server.Raw("admin"), path, accept, n)
		got, gotErr := openWatch(ctx, gateway.Raw("admin"), path, accept, n)
		if wantErr != nil {
			wantErr = fmt.Errorf("apiserver: %w", wantErr)
		}
		if err = errors.Join(wantErr, gotErr); err != nil {
			continue
		}
		if source = got.source; want.header != got.header {
			err = fmt.Errorf("header %s, want %s", got.header, want.header)
		} else {
			err = sameEvents(want.events, got.events)
		}
		if err == nil {
			return source, nil
		}
	}
	return source, fmt.Errorf("watch of %s as %s: %s: %w", path, accept, source, err)
}

// A watched is the beginning of a watch. A response that is no stream has no events.
type watched struct {
	header string
	source string
	events [][]byte // normalized and sorted
}

func openWatch(ctx context.Context, c *harness.RawClient, path, accept string, n int) (w watched, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	resp, err := c.Open(ctx, harness.Request{Path: path, Header: http.Header{"Accept": {accept}}})
	if err != nil {
		return w, err
	}
	defer resp.Body.Close()
	w.header = fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Content-Type"))
	w.source = resp.Header.Get("Sluice-Source")
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		w.header += " " + string(body)
		return w, err
	}
	if w.events, err = conformance.Events(resp, n); err != nil {
		return w, err
	}
	slices.SortFunc(w.events, bytes.Compare)
	return w, nil
}
