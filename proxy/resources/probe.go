package resources

import (
	"bufio"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// chaserSeconds is how long a chaser lives: the shortest time for which an
// apiserver sends a bookmark before the end (wire.md 7.6).
const chaserSeconds = "3"

// metadataAs asks for objects reduced to their metadata, in the cheapest
// encoding that any resource has.
func metadataAs(kind string) string {
	as := ";as=" + kind + ";g=meta.k8s.io;v=v1"
	return codec.MediaProtobuf + as + "," + codec.MediaJSON + as
}

// Probe implements cache.Prober by a consistent list of one item. It also
// makes the apiserver's own cache advance, without which there would be no
// bookmark to chase.
func (s *source) Probe(ctx context.Context) (uint64, error) {
	body, header, err := s.get(ctx, collectionPath(s.gvr), url.Values{"limit": {"1"}}, metadataAs("PartialObjectMetadataList"))
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	// A write that a changed definition allowed must not be looked for in a
	// store that was built by the old one.
	switch v, _, err := s.review(ctx); {
	case err != nil:
		return 0, fmt.Errorf("probe: %w", err)
	case v == another:
		return 0, fmt.Errorf("definition has changed: %w", cache.ErrDiverged)
	}
	if !isProtobuf(header) {
		rv, _ := json.Value(body).Get("metadata", "resourceVersion").Bytes()
		return parseVersion(rv)
	}
	u, err := proto.ParseEnvelope(body)
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	meta, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	return parseVersion(meta.ResourceVersion)
}

// ProbeWatch implements cache.Prober.
func (s *source) ProbeWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {chaserSeconds},
		"resourceVersion": {strconv.FormatUint(version, 10)},
	}
	resp, err := s.do(ctx, collectionPath(s.gvr), query, metadataAs("PartialObjectMetadata"))
	if err != nil {
		return fmt.Errorf("chaser: %w", err)
	}
	defer resp.Body.Close()
	next := s.versions(resp)
	for {
		version, isBookmark, err := next()
		switch {
		case err != nil:
			return err
		case isBookmark:
			bookmark(version)
		default:
			event(version)
		}
	}
}

// versions returns a function that reads one event of a watch after the other,
// for their versions only.
func (s *source) versions(resp *http.Response) func() (version uint64, bookmark bool, err error) {
	if isProtobuf(resp.Header) {
		in := &protoStream{source: s, body: resp.Body, in: bufio.NewReaderSize(resp.Body, 4<<10)}
		return in.version
	}
	in := newJSONStream(s, resp.Body)
	return in.version
}

// version reads the next frame. An ERROR is an error.
func (p *protoStream) version() (uint64, bool, error) {
	frame, err := p.read()
	if err != nil {
		return 0, false, err
	}
	text, object, err := proto.ParseEvent(frame)
	if err != nil {
		return 0, false, err
	}
	u, err := proto.ParseEnvelope(object)
	if err != nil {
		return 0, false, err
	}
	meta, err := proto.ParseObjectMeta(u.Raw)
	if err != nil {
		return 0, false, err
	}
	return versionOf(string(text), meta.ResourceVersion)
}

func (j *jsonStream) version() (uint64, bool, error) {
	raw, err := j.read()
	if err != nil {
		return 0, false, err
	}
	text, _ := raw.Get("type").Text()
	rv, _ := raw.Get("object", "metadata", "resourceVersion").Bytes()
	return versionOf(text, rv)
}

func versionOf(eventType string, rv []byte) (version uint64, bookmark bool, err error) {
	if _, changes := typeOf(eventType); !changes && eventType != string(watch.Bookmark) {
		return 0, false, fmt.Errorf("chaser got %s", eventType)
	}
	version, err = parseVersion(rv)
	return version, eventType == string(watch.Bookmark), err
}

func isProtobuf(h http.Header) bool {
	contentType, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return strings.HasPrefix(contentType, codec.MediaProtobuf)
}

var _ cache.Prober = (*source)(nil)
