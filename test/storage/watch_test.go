package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec/proto"
	"sluice/test/harness"
)

// watchLimit bounds how long the initial events of a watch may take.
const watchLimit = time.Minute

// watchTries is tries for watches, each of which may take watchLimit.
const watchTries = 4

// compareWatch compares the first n events of a watch and returns the source of Sluice's response.
func compareWatch(ctx context.Context, path, accept, code string, n int) (source string, err error) {
	for try := range watchTries {
		if try > 0 {
			meet(ctx, path)
		}
		want, wantErr := openWatch(ctx, server.Raw("admin"), path, accept, code, n)
		got, gotErr := openWatch(ctx, gateway.Raw("admin"), path, accept, code, n)
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

func openWatch(ctx context.Context, c *harness.RawClient, path, accept, code string, n int) (w watched, err error) {
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
	next := eventReader(resp.Body, code)
	for len(w.events) < n {
		event, err := next()
		if err != nil {
			return w, fmt.Errorf("after %d of %d events: %w", len(w.events), n, err)
		}
		w.events = append(w.events, event)
	}
	slices.SortFunc(w.events, bytes.Compare)
	return w, nil
}

// resourceVersion matches the versions in a bookmark, which two servers need not share.
var resourceVersion = regexp.MustCompile(`"resourceVersion":"[0-9]+"`)

// eventReader returns a function that reads the next event of a stream. Bookmarks come without versions.
func eventReader(r io.Reader, code string) func() ([]byte, error) {
	switch code {
	case inProtobuf:
		return func() ([]byte, error) { return readFrame(r) }
	case inCBOR:
		d := decodeCBOR.NewDecoder(r)
		return func() ([]byte, error) {
			var v any
			if err := d.Decode(&v); err != nil {
				return nil, err
			}
			if typ, _ := member(v, "type").([]byte); string(typ) == string(watch.Bookmark) {
				dropVersion(member(v, "object"))
			}
			return encodeCBOR.Marshal(v)
		}
	}
	lines := bufio.NewReader(r)
	return func() ([]byte, error) {
		line, err := lines.ReadBytes('\n')
		if bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) {
			line = resourceVersion.ReplaceAll(line, nil)
		}
		return line, err
	}
}

// readFrame reads an event in Protobuf, without the length before it.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	typ, object, err := proto.ParseEvent(b)
	if err != nil || string(typ) != string(watch.Bookmark) {
		return b, err
	}
	u, err := proto.ParseEnvelope(object)
	if err != nil {
		return nil, err
	}
	b = fmt.Appendf(nil, "%s %s %s ", typ, u.APIVersion, u.Kind)
	return proto.AppendWithResourceVersion(b, u.Raw, "")
}
