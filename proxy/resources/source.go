package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/proxy/upstream"
)

const (
	// pageSize is how many objects a page of the initial list holds.
	pageSize = 500
	// pageLimit bounds one page, in bytes: 500 objects of the largest size
	// that etcd takes.
	pageLimit = 1 << 30
	// frameLimit bounds one watch event, in bytes. etcd takes 1.5 MiB; JSON
	// can be several times as long as what is stored.
	frameLimit = 32 << 20
	// headerTimeout is how long the upstream may take to begin an answer, and
	// wholeTimeout to give all of one that ends.
	headerTimeout = time.Minute
	wholeTimeout  = 5 * time.Minute
	// A watch is asked to end after between one and two times watchLife, and
	// is given up if it goes on overtime longer.
	watchLife = 5 * time.Minute
	overtime  = 30 * time.Second
)

// source reads one resource from the upstream over HTTP: as Protobuf where all
// fields are known by their numbers, as JSON where not.
type source struct {
	upstream *upstream.Upstream
	gvr      schema.GroupVersionResource
	watches  func(group, version, resource string) (closed func())
	// reprinted is told of new columns.
	reprinted func(columns codec.Columns, printable bool)
	jsonOnly  bool // Protobuf held something unknown

	// Set by describe, used by the same goroutine.
	resource   codec.Resource
	plan       *proto.Schema // nil when the source is JSON
	fields     *fields
	definition *definition // of unstructured resources
	printable  bool        // its Tables have the columns that are known here
	warnings   []string
}

var _ reflector.ListerWatcher = (*source)(nil)

func (s *source) mediaType() string { return s.resource.Source.MediaType() }

// List reads the state in pages.
func (s *source) List(ctx context.Context, yield func(*cache.Object)) (uint64, error) {
	if err := s.describe(ctx); err != nil {
		return 0, err
	}
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		body, header, err := s.get(ctx, collectionPath(s.gvr), query, s.mediaType())
		if err != nil {
			return 0, err
		}
		if s.plan != nil && !isProtobuf(header) {
			s.jsonOnly = true
			return 0, fmt.Errorf("list is in %q: %w", header.Get("Content-Type"), reflector.ErrRebuild)
		}
		version, next, err := s.page(body, yield)
		if err != nil || next == "" {
			return version, err
		}
		query.Set("continue", next)
	}
}

// page reads one page of a list.
func (s *source) page(body []byte, yield func(*cache.Object)) (version uint64, next string, err error) {
	if s.plan != nil {
		return s.protoPage(body, yield)
	}
	list := json.Value(body)
	for _, item := range list.Get("items").Elements {
		object := bytes.Clone(item) // the page must not live on through it
		if s.resource.Style == codec.Typed {
			if object, err = json.AppendWithTypeMeta(nil, item, s.resource.APIVersion(), s.resource.Kind); err != nil {
				return 0, "", err
			}
		}
		o, err := s.jsonObject(object)
		if err != nil {
			return 0, "", err
		}
		yield(o)
	}
	next, _ = list.Get("metadata", "continue").Text()
	rv, _ := list.Get("metadata", "resourceVersion").Bytes()
	version, err = parseVersion(rv)
	return version, next, err
}

func (s *source) protoPage(body []byte, yield func(*cache.Object)) (version uint64, next string, err error) {
	list, err := proto.ParseEnvelope(body)
	if err != nil {
		return 0, "", err
	}
	meta, err := proto.ParseListMeta(list.Raw)
	if err != nil {
		return 0, "", err
	}
	for item, err := range proto.Items(list.Raw) {
		if err != nil {
			return 0, "", err
		}
		o, err := s.protoObject(item)
		if err != nil {
			return 0, "", err
		}
		yield(o)
	}
	version, err = parseVersion(meta.ResourceVersion)
	return version, string(meta.Continue), err
}

// WatchList opens a streaming list (KEP-3157).
func (s *source) WatchList(ctx context.Context) (reflector.Stream, error) {
	if err := s.describe(ctx); err != nil {
		return nil, err
	}
	return s.watch(ctx, url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}})
}

// Watch opens a stream of what follows version. The upstream ends the watches
// of a custom resource when its definition changes; what was learnt from that
// must not outlive it.
func (s *source) Watch(ctx context.Context, version uint64) (reflector.Stream, error) {
	v, now, err := s.review(ctx)
	switch {
	case err != nil:
		return nil, err
	case v == another:
		return nil, fmt.Errorf("definition has changed: %w", reflector.ErrRebuild)
	case v == reprinted:
		err = s.reprint(ctx, now)
	case s.definition != nil && s.resource.Columns != nil && !s.printable:
		err = s.reprint(ctx, s.definition) // the upstream may have come to print them
	}
	if err != nil {
		return nil, err
	}
	return s.watch(ctx, url.Values{"resourceVersion": {strconv.FormatUint(version, 10)}})
}

func (s *source) watch(ctx context.Context, query url.Values) (reflector.Stream, error) {
	life := watchLife + rand.N(watchLife)
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("timeoutSeconds", strconv.Itoa(int(life.Seconds())))
	// A connection that hangs is noticed when the watch outlives its time.
	ctx, cancel := context.WithTimeout(ctx, life+overtime)
	resp, err := s.do(ctx, collectionPath(s.gvr), query, s.mediaType())
	if err != nil {
		cancel()
		if initial := query.Has("sendInitialEvents"); initial && refused(err) {
			return nil, reflector.ErrUnsupported
		}
		return nil, err
	}
	stream, err := s.stream(resp, cancel)
	if err == nil && s.resource.Style == codec.Unstructured {
		stream = &timely{Stream: stream, source: s, due: time.Now().Add(life - time.Second)}
	}
	return stream, err
}

// timely is a stream of a custom resource. The upstream ends it before its time
// when the definition changes; what it sent last may have been by the old one,
// and if that is not long ago, the state too.
type timely struct {
	reflector.Stream
	source *source
	due    time.Time
}

func (t *timely) Next() (reflector.Event, error) {
	change, err := t.Stream.Next()
	if errors.Is(err, io.EOF) && time.Now().Before(t.due) && !t.source.settled() {
		err = fmt.Errorf("watch of a custom resource ended early: %w", reflector.ErrRebuild)
	}
	return change, err
}

// stream reads a watch in the encoding that the upstream chose.
func (s *source) stream(resp *http.Response, cancel context.CancelFunc) (reflector.Stream, error) {
	closed := s.watches(s.gvr.Group, s.gvr.Version, s.gvr.Resource)
	body := &body{ReadCloser: resp.Body, closed: func() { cancel(); closed() }}
	contentType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case contentType == codec.MediaProtobuf && s.plan != nil:
		return newProtoStream(s, body), nil
	case contentType == codec.MediaJSON && s.plan == nil:
		return newJSONStream(s, body), nil
	}
	body.Close()
	s.jsonOnly = true
	return nil, fmt.Errorf("watch is in %q: %w", contentType, reflector.ErrRebuild)
}

// body is a response body whose request ends when it is closed.
type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}

// get reads a whole response.
func (s *source) get(ctx context.Context, path string, query url.Values, accept string) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeTimeout)
	defer cancel()
	resp, err := s.do(ctx, path, query, accept)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, pageLimit+1))
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > pageLimit {
		return nil, nil, fmt.Errorf("response is longer than %d bytes", pageLimit)
	}
	if accept == codec.MediaJSON {
		err = json.Valid(raw, json.Limits{})
	}
	return raw, resp.Header, err
}

// do sends a request of Sluice's own and returns its successful response.
func (s *source) do(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	target := s.upstream.Resolve(&url.URL{Path: path}, query.Encode())
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(headerTimeout, func() { cancel(errors.New("upstream did not begin to answer in time")) })
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := s.upstream.Self.RoundTrip(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel(nil)
		defer resp.Body.Close()
		return nil, answer(resp)
	}
	return resp, nil
}

func parseVersion(rv []byte) (uint64, error) {
	version, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version: %w", err)
	}
	return version, nil
}
