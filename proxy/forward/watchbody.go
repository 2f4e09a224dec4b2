package forward

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/request"
)

// endBetweenEvents makes a passed watch end between two events once its PassedWatch is ended. It does
// not touch a body whose framing it cannot read, such as CBOR, or a compressed one, which is not asked for: the apiserver would
// compress streaming lists, and keep those that pass while the cache fills.
func endBetweenEvents(resp *http.Response, watch *request.PassedWatch) {
	if watch == nil || resp.StatusCode != http.StatusOK {
		return
	}
	watch.Opened.Set()
	events := newEventScanner(resp.Header.Get("Content-Type"))
	if events == nil || resp.Header.Get("Content-Encoding") != "" {
		return
	}
	b := &watchBody{body: resp.Body, watch: watch, events: events, cancel: passingOf(resp.Request).cancel, closed: make(chan struct{})}
	go b.awaitEnd()
	resp.Body = b
}

// watchBody is the body of a passed watch.
type watchBody struct {
	body   io.ReadCloser
	watch  *request.PassedWatch
	cancel context.CancelFunc // ends Read of body
	closed chan struct{}
	once   sync.Once
	tail   []byte // the last bytes that were read, up to tailLength

	mu     sync.Mutex // guards the fields below
	events eventScanner
	marker markerScanner
	ending bool // the watch has to end after the present event
	ended  bool
}

// awaitEnd ends the watch when that is asked for. Between two events it ends at once, although none may
// arrive for long.
func (b *watchBody) awaitEnd() {
	select {
	case <-b.closed:
		return
	case <-b.watch.Ended.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = true
	if b.events.between() {
		b.end()
	}
}

// end ends the watch. The caller must hold mu.
func (b *watchBody) end() {
	b.ended = true
	b.cancel()
}

// Read implements io.Reader. Once the watch has ended it drops further events that have arrived.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.tail = append(b.tail, p[max(0, n-tailLength):n]...)
	b.tail = append(b.tail[:0], b.tail[max(0, len(b.tail)-tailLength):]...)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, io.EOF
	}
	end := b.events.scan(p[:n])
	if (!b.watch.InitialEvents || b.marker.scan(p[:n])) && end >= 0 {
		b.watch.Resumable.Set()
	}
	if b.ending && end >= 0 {
		b.end()
		return end, io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.once.Do(func() {
		close(b.closed)
		b.watch.Expired = b.events.isGone(b.tail)
	})
	return b.body.Close()
}

// tailLength is more than the length of an ERROR event of an expired version.
const tailLength = 1 << 10

// initialEventsEnd is the annotation of the bookmark that ends the initial events, which is the same text
// in every encoding.
var initialEventsEnd = []byte(metav1.InitialEventsAnnotationKey)

// markerScanner finds initialEventsEnd. An object may contain the same text; then the watch can end
// among its initial events, and its client begins again.
type markerScanner struct {
	found bool
	seen  []byte // the end of the last piece, shorter than the text
}

// scan reads the next piece, and reports whether the text has been found.
func (s *markerScanner) scan(piece []byte) bool {
	if s.found {
		return true
	}
	s.seen = append(s.seen, piece...)
	if s.found = bytes.Contains(s.seen, initialEventsEnd); s.found {
		s.seen = nil
		return true
	}
	s.seen = append(s.seen[:0], s.seen[max(0, len(s.seen)-len(initialEventsEnd)+1):]...)
	return false
}
