package flowcontrol

import (
	"context"
	"slices"

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

	block   int64 // length of the header that is being received
	each    int64 // the most bytes of one stream, since none was uncounted
	bodies  int64 // bytes of bodies that may have been received, since then
	answers int64 // length of the answers that the client has caused, and not received
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
	switch f.kind() {
	case http2.FrameHeaders:
		if f.stream() <= s.last || s.closing {
			s.answers += answerLength
			return
		}
		s.last, s.block, s.open = f.stream(), 0, append(s.open, f.stream())
		if !f.flags().Has(http2.FlagHeadersEndStream) {
			s.bodies = ReceiveBuffer
		}
		s.extend(f.length())
	case http2.FrameContinuation:
		s.extend(f.length())
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
func (s *streams) extend(n int64) {
	s.block += n
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
}

// waiting is how many times the limit of streams may wait for a handler until the server closes the connection.
const waiting = 4

// full reports whether there may be streams that wait for a handler.
func (s *streams) full() bool { return len(s.open)+len(s.requests)-s.begun() >= s.limit }

// begin takes note that the handler of a stream begins.
func (s *streams) begin(r context.Context) { s.requests = append(s.requests, r) }

// finish takes note that the handler of a stream has ended, which leaves a header of so many bytes until the stream ends.
func (s *streams) finish(r context.Context, header int64) {
	i := slices.Index(s.requests, r)
	s.requests = slices.Delete(s.requests, i, i+1)
	if r.Err() == nil {
		s.each = max(s.each, accounts.RequestBytes, streamBytes+header)
	}
}
