package listwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"sluice/cache/fence"
	"sluice/cache/reflector"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/proxy/discovery"
)

// Session is the reading of one store's unbroken history. It implements fence.Apiserver for the
// store's fence.
type Session struct {
	client      *Client
	refreshing  sync.Mutex
	description atomic.Pointer[discovery.Description]
	// inventoryPage is how many objects the first page of an inventory has, as the last inventory of all objects has shown;
	// zero before that.
	inventoryPage atomic.Int64
}

func newSession(c *Client, d *discovery.Description) *Session {
	s := &Session{client: c}
	s.description.Store(d)
	return s
}

// Description returns the present description of the store's resource. It only ever changes in its
// printer columns, and in the template of bookmarks until the store is in sync.
func (s *Session) Description() *discovery.Description { return s.description.Load() }

// Refresh compares the CRD and takes over changed columns. It returns discovery.ErrChanged if the
// store must be rebuilt.
func (s *Session) Refresh(ctx context.Context) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	was := s.Description()
	now, err := s.client.discovery.Refresh(ctx, was)
	if err != nil || now == was {
		return err
	}
	s.description.Store(now)
	s.client.options.ColumnsChanged(was, now)
	return nil
}

// accept returns the media types of the encodings in which objects are read. CBOR need not be supported
// by every replica of the apiserver.
func (s *Session) accept() string {
	r := &s.Description().Resource
	if r.WholeFloats {
		return codec.MediaCBOR + "," + codec.MediaJSON
	}
	return r.Source.MediaType()
}

// rebuildAsJSON returns an error that makes the reflector rebuild the store, from JSON from now on.
func (s *Session) rebuildAsJSON(err error) error {
	s.client.jsonOnly = true
	return fmt.Errorf("%w: %w", err, reflector.ErrRebuild)
}

// undecodable returns err, or rebuildAsJSON of it for whole CBOR that cannot be read, such as names that
// are not UTF-8: the apiserver would send the same again.
func (s *Session) undecodable(err error) error {
	if errors.Is(err, cbor.ErrDecode) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s.rebuildAsJSON(err)
	}
	return err
}

// encodingOf returns the encoding of a response with objects to store. The apiserver may not support Protobuf or CBOR,
// whatever the request accepts: the response that fills a store decides, and a single response to another watch does not. One in
// no encoding at all is not the apiserver's, and says nothing of it.
func (s *Session) encodingOf(h http.Header, fills bool) (encoding, error) {
	d := s.Description()
	e, err := encodingOf(h)
	_, protobuf := e.(protobufEncoding)
	_, inCBOR := e.(cborEncoding)
	if err != nil {
		return nil, err
	}
	if protobuf != (d.Schema != nil) || inCBOR != d.Resource.WholeFloats {
		err = fmt.Errorf("response in %q: %w", h.Get("Content-Type"), errEncoding)
		if fills || d.Resource.WholeFloats { // which accepts JSON as well
			return nil, s.rebuildAsJSON(err)
		}
		return nil, fmt.Errorf("%w: %w", err, reflector.ErrRebuild)
	}
	return e, nil
}

// list reads the state in pages.
func (s *Session) list(ctx context.Context, yield func(*tree.Object)) (uint64, error) {
	pages := &pager{client: s.client, accept: s.accept(), size: firstPage, most: pageSize}
	return pages.read(ctx, url.Values{}, func(header http.Header, body []byte) (list, error) {
		e, err := s.encodingOf(header, true)
		if err != nil {
			return list{}, err
		}
		page, err := e.list(body)
		if err != nil {
			return list{}, s.undecodable(err)
		}
		for item, err := range page.items {
			if err != nil {
				return list{}, err
			}
			o, err := s.item(e, item)
			if err != nil {
				return list{}, err
			}
			yield(o)
		}
		return page, nil
	})
}

// item makes an object to store of an item of a list. The items of typed resources have no kind and
// apiVersion in JSON.
func (s *Session) item(e encoding, item []byte) (*tree.Object, error) {
	r := &s.Description().Resource
	if r.Source == codec.JSON && r.Style == codec.Typed {
		var err error
		if item, err = json.AppendWithTypeMeta(nil, item, r.APIVersion(), r.Kind); err != nil {
			return nil, err
		}
	}
	return s.object(e, item)
}

// object makes an object to store of data, which it copies out of the larger buffer. Protobuf with
// unknown fields makes the store rebuild as JSON.
func (s *Session) object(e encoding, data []byte) (*tree.Object, error) {
	d := s.Description()
	if d.Schema != nil {
		if err := d.Schema.Check(data); err != nil {
			return nil, s.rebuildAsJSON(err)
		}
	}
	data = bytes.Clone(data)
	meta, err := e.metadata(data)
	if err != nil {
		return nil, err
	}
	fields, err := d.Fields.Of(data)
	if err != nil {
		return nil, err
	}
	o := &tree.Object{Key: meta.key(), RV: meta.version, Data: data, Fields: fields}
	o.SetLabels(meta.labels)
	return o, nil
}

var _ fence.Apiserver = (*Session)(nil)
