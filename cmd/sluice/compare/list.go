package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice/codec/json"
	"sluice/proxy/request"
)

// endpoint is Sluice or the apiserver.
type endpoint struct {
	client rest.Interface
	// silence is how long it may send nothing of a list.
	silence time.Duration
	asOf    string // request.AsOfHeader of the last answer, which only one from a cache of Sluice has
}

func newEndpoint(cfg *rest.Config) (*endpoint, error) {
	e := &endpoint{}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // one request follows the other
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &recorder{next, e} })
	var err error
	e.client, err = rest.UnversionedRESTClientFor(cfg)
	return e, err
}

// recorder takes down the header of each answer.
type recorder struct {
	next http.RoundTripper
	to   *endpoint
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(q)
	if err == nil {
		r.to.asOf = resp.Header.Get(request.AsOfHeader)
	}
	return resp, err
}

// object is the version and hash of an object.
type object struct {
	version string
	sum     uint64
}

// seed is of all hashes.
var seed = maphash.MakeSeed()

// lenient is how objects are read: the apiserver sends managed fields as they were written.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// canonical is how they are hashed.
var canonical = append([]jsontext.Options{jsontext.ReorderRawObjects(true)}, lenient...)

// reader reads objects one after the other.
type reader struct {
	*jsontext.Decoder
	scratch []byte
}

// object returns the key of the next object, namespace/name, with its version and hash. The hash depends on neither the order of
// fields nor white space; numbers stay as they are written.
func (r *reader) object() (string, object, error) {
	text, err := r.ReadValue()
	if err != nil {
		return "", object{}, err
	}
	meta, err := json.ParseObjectMeta(text)
	if err == nil {
		r.scratch, err = jsontext.AppendFormat(r.scratch[:0], text, canonical...)
	}
	o := object{version: string(meta.ResourceVersion), sum: maphash.Bytes(seed, r.scratch)}
	return string(meta.Namespace) + "/" + string(meta.Name), o, err
}

// listMeta are fields of the metadata of a list.
type listMeta struct{ version, continues string }

// list reads a list, and calls do with each of its objects.
func (e *endpoint) list(ctx context.Context, path string, query url.Values, do func(string, object)) (listMeta, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(e.silence, func() { cancel(fmt.Errorf("it is silent for %s", e.silence)) })
	defer limit.Stop()
	q := e.client.Get().AbsPath(path).SetHeader("Accept", "application/json").SetHeader(request.AsOfHeader, request.Asked)
	for name := range query {
		q.Param(name, query.Get(name))
	}
	body, err := q.Stream(ctx)
	if err != nil {
		return listMeta{}, cmp.Or(context.Cause(ctx), err)
	}
	defer body.Close()
	meta, err := readList(body, func(key string, o object) { limit.Reset(e.silence); do(key, o) })
	if err != nil {
		err = cmp.Or(context.Cause(ctx), err)
		return meta, fmt.Errorf("the list of %s: %w", path, err)
	}
	return meta, nil
}

var errNoList = errors.New("this is no list")

// readList reads a list as it arrives: one object is in memory at a time.
func readList(body io.Reader, do func(string, object)) (meta listMeta, err error) {
	r := &reader{Decoder: jsontext.NewDecoder(body, lenient...)}
	if err := r.expect('{'); err != nil {
		return meta, err
	}
	for r.PeekKind() == '"' {
		name, err := r.ReadToken()
		if err != nil {
			return meta, err
		}
		switch name.String() {
		case "metadata":
			var v jsontext.Value
			v, err = r.ReadValue()
			meta.version, _ = json.Value(v).Get("resourceVersion").Text()
			meta.continues, _ = json.Value(v).Get("continue").Text()
		case "items":
			err = r.items(do)
		default:
			err = r.SkipValue()
		}
		if err != nil {
			return meta, err
		}
	}
	if err = r.expect('}'); err == nil && meta.version == "" {
		err = errNoList
	}
	return meta, err
}

// expect reads a token that begins or ends a value.
func (r *reader) expect(kind jsontext.Kind) error {
	switch t, err := r.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() != kind:
		return errNoList
	}
	return nil
}

// items reads the objects.
func (r *reader) items(do func(string, object)) error {
	if r.PeekKind() == 'n' { // there are none
		return r.SkipValue()
	}
	if err := r.expect('['); err != nil {
		return err
	}
	for r.PeekKind() == '{' {
		key, o, err := r.object()
		if err != nil {
			return err
		}
		do(key, o)
	}
	return r.expect(']')
}
