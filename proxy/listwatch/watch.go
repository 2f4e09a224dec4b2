package listwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/proxy/discovery"
)

const (
	// Each watch requests a timeout between watchLife and twice watchLife. It is canceled if it is
	// open for overtime longer: then its connection hangs.
	watchLife = 5 * time.Minute
	overtime  = 30 * time.Second
	// initialEventsSilence is how long a streaming list may deliver no object before its initial events have
	// ended. An apiserver that cannot tell their end may keep the watch open without a word, or deliver changes.
	initialEventsSilence = 3 * time.Minute
	// atOnce is how soon a watch must follow another, or a list, to be of the same history without an inventory.
	atOnce = time.Second
	// readAhead is the size of a watch's buffer, in bytes.
	readAhead = 64 << 10
)

// watch opens a watch with further parameters.
func (s *Session) watch(ctx context.Context, query url.Values) (*stream, error) {
	life := (watchLife + rand.N(watchLife)).Truncate(time.Second)
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("timeoutSeconds", strconv.Itoa(int(life.Seconds())))
	ctx, cancel := context.WithTimeout(ctx, life+overtime)
	asked := time.Now()
	resp, err := s.client.upstream.Open(ctx, s.client.path, query, s.accept())
	if err != nil {
		cancel()
		return nil, err
	}
	e, err := s.encodingOf(resp.Header, query.Get("sendInitialEvents") != "")
	if err != nil {
		cancel()
		_ = resp.Body.Close()
		return nil, err
	}
	opened := time.Now()
	return &stream{
		session: s, encoding: e, body: resp.Body, events: e.events(resp.Body, readAhead), due: asked.Add(life),
		late:      opened.Add(life + atOnce),
		continues: opened.Sub(s.client.contact) <= atOnce, cancel: cancel, closed: s.client.options.Opened(),
	}, nil
}

// stream is an open watch of a session.
type stream struct {
	session   *Session
	encoding  encoding
	body      io.Closer
	events    eventReader
	due, late time.Time // between which the apiserver ends the watch by its timeout
	continues bool
	cancel    context.CancelFunc
	closed    func()
	silence   *time.Timer // cancels a streaming list that delivers no object; nil once its initial events have ended
	silent    time.Time   // when it does so
}

// Continues implements reflector.Stream. etcd is restored from a backup while every apiserver is stopped. So a watch continues
// one that its apiserver has ended by its own timeout, or a list, if it was accepted within atOnce of that: no apiserver stops,
// and another one starts on other data, within that.
func (s *stream) Continues() bool { return s.continues }

func (s *stream) Close() error {
	if s.silence != nil {
		s.silence.Stop()
	}
	s.cancel()
	s.closed()
	return s.body.Close()
}

func (s *stream) Next() (reflector.Event, error) {
	eventType, object, err := s.events.next()
	initial := s.silence != nil
	if initial && !s.silence.Stop() {
		err = errSilent
	}
	var event reflector.Event
	if err != nil {
		err = s.ended(s.session.undecodable(err))
	} else {
		event, err = s.change(eventType, object)
	}
	err = s.unfollowed(err)
	switch {
	case !initial:
	case err != nil:
		err = listInstead(err)
	case event.InitialEventsEnd:
		s.silence = nil
	default:
		if event.Type == cache.Added {
			s.silent = time.Now().Add(initialEventsSilence)
		}
		s.silence.Reset(time.Until(s.silent))
		if event.Object != nil {
			s.session.client.options.Read(event.Object)
		}
	}
	return event, err
}

// ended takes note of when a stream has ended, with err, which it returns.
func (s *stream) ended(err error) error {
	now := time.Now()
	s.session.client.contact = time.Time{}
	if errors.Is(err, io.EOF) && !now.Before(s.due) && !now.After(s.late) {
		s.session.client.contact = now
	}
	return err
}

// unfollowed returns err, or one that has the store rebuilt if the apiserver ends the watch of a custom resource before its
// timeout, as it does when the CRD changes, and Sluice does not see the CRD.
func (s *stream) unfollowed(err error) error {
	early := errors.Is(err, io.EOF) && time.Now().Before(s.due.Add(-time.Second))
	if d := s.session.Description(); !early || d.Resource.Style != codec.Unstructured || d.Followed() {
		return err
	}
	return classify(fmt.Errorf("%w: %w", err, discovery.ErrChanged))
}

// change decodes an event.
func (s *stream) change(eventType string, object []byte) (reflector.Event, error) {
	if t, ok := typeOf(eventType); ok {
		o, err := s.session.object(s.encoding, object)
		if err != nil {
			return reflector.Event{}, malformed(err)
		}
		return reflector.Event{Type: t, Object: o, Version: o.RV}, nil
	}
	switch eventType {
	case string(watch.Bookmark):
		if s.silence != nil { // the store is not published yet, and takes the description
			s.session.keepBookmark(object)
		}
		meta, err := s.encoding.metadata(object)
		if err != nil {
			return reflector.Event{}, malformed(err)
		}
		ends := meta.annotation(metav1.InitialEventsAnnotationKey) == "true"
		return reflector.Event{Version: meta.version, InitialEventsEnd: ends}, nil
	case string(watch.Error):
		status, err := s.encoding.status(object)
		if err != nil {
			return reflector.Event{}, malformed(err)
		}
		return reflector.Event{}, classify(&apierrors.StatusError{ErrStatus: status})
	}
	return reflector.Event{}, malformed(fmt.Errorf("unknown type %q", eventType))
}

// keepBookmark keeps the first JSON bookmark as the template for bookmarks of the resource: only the
// apiserver knows how it prints the empty fields of a kind.
func (s *Session) keepBookmark(object []byte) {
	if d := s.Description(); d.Schema == nil && d.Resource.Bookmark == nil {
		s.description.Store(d.WithBookmark(bytes.Clone(object)))
	}
}

// typeOf returns the type of an event that changes the state.
func typeOf(eventType string) (cache.Type, bool) {
	for _, t := range []cache.Type{cache.Added, cache.Modified, cache.Deleted} {
		if t.String() == eventType {
			return t, true
		}
	}
	return 0, false
}
