package storage

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/json"
	"sluice/test/harness"
)

// tries bounds how often a request is sent again whose object the apiserver may have changed.
const tries = 10

// compare sends a GET to both and returns their difference and the source of Sluice's response.
func compare(ctx context.Context, url, accept string, normalize func([]byte) ([]byte, error)) (source string, err error) {
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
		if err = difference(want, got, normalize); err == nil {
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

func difference(want, got *harness.Response, normalize func([]byte) ([]byte, error)) error {
	if want.Status != got.Status {
		return fmt.Errorf("status %d, want %d\n got %.300s\nwant %.300s", got.Status, want.Status, got.Body, want.Body)
	}
	if w, g := want.Header.Get("Content-Type"), got.Header.Get("Content-Type"); w != g {
		return fmt.Errorf("content type %s, want %s", g, w)
	}
	if bytes.Equal(want.Body, got.Body) {
		return nil
	}
	w, err := normalize(want.Body)
	if err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	g, err := normalize(got.Body)
	if err != nil {
		return fmt.Errorf("%w in %q", err, got.Body)
	}
	return sameBytes(w, g)
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

// The resource version of a list is that of the cache, which the responses of two servers need not
// share. In JSON it is the first one, because items have names before it; in YAML it is the only one
// that is two spaces deep.
var (
	listVersionJSON = regexp.MustCompile(`^(\{[^{]*"metadata":\{)"resourceVersion":"[0-9]+"`)
	listVersionYAML = regexp.MustCompile(`(?m)^  resourceVersion: "[0-9]+"$`)
)

// normalizeObject leaves JSON, YAML and Protobuf as they are. The apiserver shuffles the members of
// CBOR maps.
func normalizeObject(code string) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		if code == inCBOR {
			return sortedCBOR(b, false)
		}
		return b, nil
	}
}

// normalizeList also removes the resource version of the list.
func normalizeList(code string) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		switch code {
		case inCBOR:
			return sortedCBOR(b, true)
		case inYAML:
			return listVersionYAML.ReplaceAll(b, nil), nil
		case inProtobuf:
			return withoutListVersion(b)
		}
		return listVersionJSON.ReplaceAll(b, []byte("$1")), nil
	}
}

var (
	decodeCBOR, _ = cbor.DecOptions{MaxArrayElements: 1 << 20}.DecMode()
	encodeCBOR, _ = cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode()
)

// sortedCBOR encodes CBOR again with sorted maps, without the resource version of a list if list is set.
func sortedCBOR(b []byte, list bool) ([]byte, error) {
	var v any
	if err := decodeCBOR.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	if list {
		dropVersion(v)
	}
	return encodeCBOR.Marshal(v)
}

// dropVersion deletes metadata.resourceVersion from decoded CBOR, whose strings are byte strings.
func dropVersion(v any) {
	if tag, ok := v.(cbor.Tag); ok {
		v = tag.Content
	}
	if meta, ok := member(v, "metadata").(map[any]any); ok {
		delete(meta, cbor.ByteString("resourceVersion"))
		delete(meta, "resourceVersion")
	}
}

func member(v any, name string) any {
	m, _ := v.(map[any]any)
	if x, ok := m[cbor.ByteString(name)]; ok {
		return x
	}
	return m[name]
}

// withoutListVersion returns an enveloped Protobuf list without its resource version.
func withoutListVersion(b []byte) ([]byte, error) {
	raw, rest, err := cutRaw(b)
	if err != nil {
		return nil, err
	}
	out := rest
	err = eachField(raw, func(num protowire.Number, field, value []byte) error {
		if num != 1 { // ListMeta
			out = append(out, field...)
			return nil
		}
		return eachField(value, func(num protowire.Number, field, _ []byte) error {
			if num != 2 { // resourceVersion
				out = append(out, field...)
			}
			return nil
		})
	})
	return out, err
}

// cutRaw returns the field raw of an envelope, and the envelope without it.
func cutRaw(b []byte) (raw, rest []byte, err error) {
	body, ok := bytes.CutPrefix(b, []byte("k8s\x00"))
	if !ok {
		return nil, nil, fmt.Errorf("no envelope: %.40q", b)
	}
	err = eachField(body, func(num protowire.Number, field, value []byte) error {
		if num == 2 { // Unknown.raw
			raw = value
		} else {
			rest = append(rest, field...)
		}
		return nil
	})
	return raw, rest, err
}

// eachField calls f with each field of a message, whole and its value.
func eachField(b []byte, f func(num protowire.Number, field, value []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		value := b[n : n+m]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := f(num, b[:n+m], value); err != nil {
			return err
		}
		b = b[n+m:]
	}
	return nil
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
