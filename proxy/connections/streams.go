package connections

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"sluice/proxy/accounts"
)

const (
	// streamBytes is what the server takes for a stream besides its header.
	streamBytes = accounts.RequestBytes / 2
	// fieldExpansion is how many times its length a header over HTTP/2 may take: a field of one byte refers to an earlier
	// one, which is shared, and takes about fifty.
	fieldExpansion = 56
	// listExpansion is how many times the limit of its length a header may take in the end: a field counts as 32 bytes
	// and its text there.
	listExpansion = 2
	// answerLength is the length of the shortest frame that answers one, and answerExpansion how many times that the
	// server takes while the frame waits for the client.
	answerLength, answerExpansion = 13, 12
)

// streams knows from the frames of an HTTP/2 connection which streams no request counts: their header is not complete, their
// handler has not begun or is the server's own (431, 400), or it has ended and the client does not accept the response.
type streams struct {
	limit int   // of streams at a time
	most  int64 // bytes that the server takes for one

	open     []uint32
	last     uint32            // the highest that was opened
	closing  bool              // the server opens no more
	requests []context.Context // those whose handlers run; it has ended if the stream has

	// reset counts streams that were reset, whose requests may still wait for one of limit handlers.
	reset int

	opening bool  // the last header was one of a new stream
	allowed bool  // there was room for it
	trailer bool  // the client has sent trailers: HEADERS of a stream that was opened before
	block   int64 // its length so far
	each    int64 // the most bytes of one stream, since none was uncounted
	bodies  int64 // bytes of bodies that may have been received, since then
	answers int64 // length of the answers that the client has caused, and not received

	arrived int         // streams with a complete header whose requests are not admitted or refused yet
	awaited sync.Cond   // arrived has become less, or the connection is cut
	late    *time.Timer // gives them up, or ends a pause; nil before the first

	pace   time.Duration // for each short frame that was not earned
	earned int           // short frames
	due    time.Time     // when those that were not earned will have had their time

	wrapped int64 // bytes received before decryption
	excess  int64 // record overhead that does not count yet; if negative, how much more is free, at most wrappingFree
}

const (
	// shortFrame is the length below which a piece of a body or header is short. So is every frame that is neither, such as a
	// ping: it costs the server far more than its client.
	shortFrame = 256
	// userPace and strangerPace are how often a client may send a short frame, with shortAtOnce of them at once.
	userPace, strangerPace = 5 * time.Millisecond, 50 * time.Millisecond
	shortAtOnce            = 200
	// recordBytes is the size of a TLS 1.3 record that carries a KeyUpdate, about that of a record with one byte of data. So many
	// bytes of record overhead count as a short frame. Overhead is what was received beyond twice the decrypted data.
	recordBytes = 27
	// shortEarned is how many a client earns by a request, and by a frame of at least earningFrame that it has received: it
	// opens windows. It keeps maxEarned, since those windows follow soon.
	shortEarned  = 4
	earningFrame = 64
	maxEarned    = 1 << 12
)

// newStreams returns the streams of a connection, which l guards: at most limit at a time, for which the server takes at most
// so many bytes each.
func newStreams(l sync.Locker, limit int, most int64) *streams {
	return &streams{limit: limit, most: most, awaited: sync.Cond{L: l}, pace: strangerPace, excess: -wrappingFree}
}

// begun returns how many open streams have a handler that runs.
func (s *streams) begun() (n int) {
	for _, r := range s.requests {
		if r.Err() == nil {
			n++
		}
	}
	return n
}

// uncounted returns how many streams no request counts. Frames of streams whose handlers run look at no stream.
func (s *streams) uncounted() int64 {
	if s.each == 0 && s.reset == 0 { // none was opened, nor left by its handler, since there was none
		return 0
	}
	return int64(max(0, len(s.open)-s.begun()+s.reset))
}

// bytes returns how many bytes no request counts.
func (s *streams) bytes() int64 {
	if s.reset > 0 && !s.full() { // there was a handler for each
		s.reset = 0
	}
	n := s.uncounted()
	if n == 0 {
		s.each, s.bodies = 0, 0
	}
	return n*s.each + s.bodies + s.answers*answerExpansion
}

// receive takes note of a frame from the client.
func (s *streams) receive(f *frame) {
	s.charge(f)
	switch f.kind() {
	case http2.FrameHeaders:
		s.trailer = s.trailer || f.stream() <= s.last
		s.allowed = s.hasRoom(f)
		if s.opening = f.stream() > s.last && !s.closing; !s.opening {
			s.answers += answerLength
			return
		}
		if s.allowed {
			s.earn()
		}
		s.last, s.block, s.open = f.stream(), 0, append(s.open, f.stream())
		if !f.flags().Has(http2.FlagHeadersEndStream) {
			s.bodies = ReceiveBuffer
		}
		s.extend(f)
	case http2.FrameContinuation:
		if s.opening {
			s.extend(f)
		}
	case http2.FrameRSTStream:
		s.end(f.stream(), true)
	case http2.FrameData:
		if !slices.Contains(s.open, f.stream()) {
			s.answers += answerLength
		}
	default:
		if f.kind() != http2.FramePing && f.kind() != http2.FrameSettings || !f.flags().Has(http2.FlagPingAck) {
			s.answers += answerLength
		}
	}
}

// send takes note of a frame that the client has received.
func (s *streams) send(f *frame) {
	s.answers = max(0, s.answers-f.length()-frameHeader)
	switch f.kind() {
	case http2.FrameHeaders, http2.FrameData:
		if f.length() >= earningFrame {
			s.earn()
		}
		if f.flags().Has(http2.FlagDataEndStream) {
			s.end(f.stream(), false)
		}
	case http2.FrameRSTStream:
		s.end(f.stream(), true)
	case http2.FrameGoAway:
		s.closing = true
	}
}

// extend takes note of a piece of a header.
func (s *streams) extend(f *frame) {
	if f.flags().Has(http2.FlagHeadersEndHeaders) {
		s.arrived++
	}
	s.block += f.length()
	s.each = max(s.each, accounts.RequestBytes, min(s.most, streamBytes+fieldExpansion*s.block))
}

// end ends a stream.
func (s *streams) end(id uint32, reset bool) {
	i := slices.Index(s.open, id)
	if i < 0 {
		return
	}
	if reset && s.full() && s.reset <= waiting*s.limit {
		s.reset++
	}
	s.open = slices.Delete(s.open, i, i+1)
	if s.arrived > 0 { // the server may have refused it
		s.expect(min(s.arrived, len(s.open)-s.begun()))
	}
}

// waiting is how many times the limit of streams may wait for a handler until the server closes the connection.
const waiting = 4

// full reports whether there may be streams that wait for a handler.
func (s *streams) full() bool { return len(s.open)+len(s.requests)-s.begun() >= s.limit }

// decision is how long complete requests have to be admitted or refused until more is received: else a few connections could
// begin more than there is memory for, on however few processors.
const decision = 50 * time.Millisecond

// await waits until complete requests are admitted or refused and short frames have had their time, or the connection is cut: the
// server would read no more, so that it would notice. It gives up requests that are late: the server answers some without a
// handler, and others wait for reviews.
func (s *streams) await(cut *bool) {
	for s.arrived > 0 && !*cut {
		s.wait(decision)
	}
	for pause := s.pause(); pause > 0 && !*cut; pause = s.pause() {
		s.wait(pause)
	}
}

// wait waits for one of what await waits for, or for d.
func (s *streams) wait(d time.Duration) {
	if s.late == nil {
		s.late = time.AfterFunc(d, s.giveUp)
	} else {
		s.late.Reset(d)
	}
	s.awaited.Wait()
	s.late.Stop()
}

func (s *streams) giveUp() {
	s.awaited.L.Lock()
	defer s.awaited.L.Unlock()
	s.expect(0)
}

// expect makes await wait for n requests.
func (s *streams) expect(n int) {
	s.arrived = max(0, n)
	s.awaited.Broadcast()
}

// hasRoom reports whether a header opens a stream that the server does not refuse.
func (s *streams) hasRoom(f *frame) bool {
	return f.stream() > s.last && !s.closing && len(s.open) < s.limit
}

// charge takes note of what a frame from the client costs. The server decodes a header whatever becomes of its stream. A piece of a
// body with padding may hold nothing else.
func (s *streams) charge(f *frame) {
	switch long := f.length() >= shortFrame; f.kind() {
	case http2.FrameHeaders:
		if !s.hasRoom(f) {
			s.pay(1 + f.length()/shortFrame)
		}
	case http2.FrameContinuation:
		if !long || !s.allowed {
			s.pay(1 + f.length()/shortFrame)
		}
	case http2.FrameData:
		if !long || f.flags().Has(http2.FlagDataPadded) || !slices.Contains(s.open, f.stream()) {
			s.pay(1)
		}
	default:
		s.pay(1)
	}
}

// pay takes n short frames from those that are earned, and makes the client wait for the rest.
func (s *streams) pay(n int64) {
	earned := min(n, int64(s.earned))
	s.earned -= int(earned)
	if n -= earned; n == 0 {
		return
	}
	if now := time.Now(); s.due.Before(now) {
		s.due = now
	}
	s.due = s.due.Add(time.Duration(n) * s.pace)
}

// unwrap takes note of n bytes of decrypted data, after wrapped bytes have been received on the connection. Decrypting a record
// costs as much as a short frame, even if it holds one byte or none.
func (s *streams) unwrap(wrapped, n int64) {
	s.excess = max(s.excess+wrapped-s.wrapped-2*n, -wrappingFree)
	s.wrapped = wrapped
	if s.excess > 0 {
		s.pay(s.excess / recordBytes)
		s.excess %= recordBytes
	}
}

func (s *streams) earn() { s.earned = min(s.earned+shortEarned, maxEarned) }

// pause returns for how long the client has to wait for its short frames.
func (s *streams) pause() time.Duration {
	if s.due.IsZero() {
		return 0
	}
	return time.Until(s.due) - shortAtOnce*s.pace
}

// begin takes note that the handler of a stream begins.
func (s *streams) begin(r context.Context) { s.requests = append(s.requests, r) }

// decide takes note that a request was admitted or refused.
func (s *streams) decide() { s.expect(s.arrived - 1) }

// finish takes note that the handler of a stream has ended, which leaves a header of so many bytes until the stream ends.
func (s *streams) finish(r context.Context, header int64) {
	i := slices.Index(s.requests, r)
	s.requests = slices.Delete(s.requests, i, i+1)
	if r.Err() == nil {
		s.each = max(s.each, accounts.RequestBytes, streamBytes+header)
	}
}
