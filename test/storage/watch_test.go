package storage

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"sluice/test/conformance"
	"sluice/test/harness"
)

// watchLimit bounds how long the initial events of a watch may take.
const watchLimit = time.Minute

// firstEvents returns the first n events of a watch, normalized and sorted. A response that is no stream is returned as it is.
func firstEvents(ctx context.Context, c *harness.RawClient, path, accept string, n int) (*harness.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	resp, err := c.Open(ctx, harness.Request{Path: path, Header: http.Header{"Accept": {accept}}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := &harness.Response{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		r.Body, err = io.ReadAll(resp.Body)
		return r, err
	}
	events, err := conformance.Events(resp, n)
	slices.SortFunc(events, bytes.Compare)
	r.Body = bytes.Join(events, nil)
	return r, err
}
