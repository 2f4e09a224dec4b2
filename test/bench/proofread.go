package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/test/harness"
)

// proofHeader is what client-go sends with Protobuf.
var proofHeader = http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}}

// read does one consistent read and returns the number of its requests.
func (e *env) read(ctx context.Context, c proofCase, t *target, reader int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, responseLimit)
	defer cancel()
	raw, err := t.connection(reader)
	if err != nil {
		return 0, err
	}
	switch path, objects := c.path(e, reader), c.selected(e, reader); {
	case c.streaming:
		updates := 0
		if c.busy {
			updates = busyRate * int(responseLimit.Seconds())
		}
		return 1, fetch(ctx, raw, path, func(body io.Reader) error {
			return readInitialEvents(body, newFrames(), objects, updates)
		})
	case c.paged:
		return readPages(ctx, raw, path, objects)
	default:
		return 1, fetch(ctx, raw, path, drain)
	}
}

// fetch sends a request and reads its decompressed body.
func fetch(ctx context.Context, raw *harness.RawClient, path string, read func(io.Reader) error) error {
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: proofHeader})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	body, release, err := decompress(resp.Body, codingOf(resp.Header))
	if err != nil {
		return err
	}
	defer release()
	return read(body)
}

// readPages follows continue tokens and returns the number of pages. A list of another length is an
// error.
func readPages(ctx context.Context, raw *harness.RawClient, path string, objects int) (pages int, err error) {
	token, n := "", 0
	for {
		var page metav1.List
		err := fetch(ctx, raw, path+"&continue="+url.QueryEscape(token), func(body io.Reader) (err error) {
			page, err = decodePage(body)
			return err
		})
		if err != nil {
			return pages, err
		}
		pages++
		n += len(page.Items)
		if token = page.Continue; token == "" {
			break
		}
	}
	if n != objects {
		return pages, fmt.Errorf("%d objects in %d pages instead of %d", n, pages, objects)
	}
	return pages, nil
}

// decodePage decodes the metadata of a Protobuf list and of its items: metav1.List has the field
// numbers of all lists, and takes the first field of an item as its content.
func decodePage(body io.Reader) (page metav1.List, err error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return page, err
	}
	envelope, found := bytes.CutPrefix(text, []byte("k8s\x00"))
	if !found {
		return page, errors.New("page is not Protobuf")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(envelope); err != nil {
		return page, err
	}
	return page, page.Unmarshal(unknown.Raw)
}
