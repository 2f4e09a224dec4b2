package list

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/test/support/servetest"
)

// newTestResponse returns a responseWriter for a client that accepts a coding, where its bytes go,
// and how often the headers were set.
func newTestResponse(accepts string) (*responseWriter, *httptest.ResponseRecorder, *int) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", accepts)
	started := 0
	return newResponseWriter(w, r, nil, encode.PieceSize, func(http.Header) { started++ }), w, &started
}

func TestTextIsWrittenInOrder(t *testing.T) {
	for range 50 {
		for _, coding := range servetest.Codings {
			out, w, started := newTestResponse(coding)
			var encoded int64
			out.encoded = &encoded
			var want []byte
			for range rand.N(50) {
				text := bytes.Repeat([]byte{byte(rand.Uint32())}, rand.N(1<<(2+rand.N(17))))
				want = append(want, text...)
				var err error
				if rand.N(2) == 0 {
					err = out.add(text)
				} else {
					if err = out.reserve(); err == nil {
						out.buf = append(out.buf, text...)
						err = out.spill()
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := out.finish(); err != nil {
				t.Fatal(err)
			}
			compressed := w.Header().Get("Content-Encoding") != ""
			if long := coding != "" && len(want) > response.CompressFrom; *started != 1 || compressed != long {
				t.Errorf("%q: %d bytes, headers set %d times, compressed %v", coding, len(want), *started, compressed)
			}
			if compressed && encoded != int64(len(want)) || !compressed && encoded != 0 {
				t.Errorf("%q: %d bytes counted before compression, of %d", coding, encoded, len(want))
			}
			if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
				t.Errorf("%q: %d bytes, want %d", coding, len(got), len(want))
			}
			out.release()
		}
	}
}

func TestHeadersAreSentWithTheFirstByte(t *testing.T) {
	for _, row := range []struct {
		name  string
		write func(*responseWriter) error
		sent  bool
	}{
		{"nothing", func(*responseWriter) error { return nil }, false},
		{"a piece", func(out *responseWriter) error { return out.add(make([]byte, encode.PieceSize)) }, false},
		{"more than a piece", func(out *responseWriter) error { return out.add(make([]byte, encode.PieceSize+1)) }, true},
		{"gathered text", func(out *responseWriter) error { out.buf = make([]byte, encode.PieceSize); return out.spill() }, false},
		{"more gathered text", func(out *responseWriter) error { out.buf = make([]byte, encode.PieceSize+1); return out.spill() }, true},
		{"an empty body", func(out *responseWriter) error { _, err := out.finish(); return err }, true},
		{"short blocks", blocksOf(encode.PieceSize), false},
		{"long blocks", blocksOf(encode.PieceSize + 1), true},
	} {
		for _, coding := range servetest.Codings[1:] {
			out, w, started := newTestResponse(coding)
			if err := row.write(out); err != nil {
				t.Fatal(err)
			}
			if sent := *started == 1; sent != row.sent || out.started != row.sent || !row.sent && (w.Body.Len() > 0 || len(w.Header()) > 0) {
				t.Errorf("%s in %s: headers sent %v, want %v", row.name, coding, sent, row.sent)
			}
		}
	}
}

// blocksOf adds blocks of so many bytes of text.
func blocksOf(n int) func(*responseWriter) error {
	return func(out *responseWriter) error {
		for rest := n; rest > 0; rest -= 1 << 10 {
			b := out.accepted.Compress(nil, make([]byte, min(rest, 1<<10)))
			if err := out.addBlock(&b); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestShortBodyOfBlocksCanBeWrittenAsText(t *testing.T) {
	for _, coding := range servetest.Codings[1:] {
		out, w, _ := newTestResponse(coding)
		if err := blocksOf(encode.PieceSize)(out); err != nil {
			t.Fatal(err)
		}
		if written, err := out.finish(); written || err != nil {
			t.Fatalf("%s: %v, %v", coding, written, err)
		}
		if err := out.add([]byte("text")); err != nil {
			t.Fatal(err)
		}
		if _, err := out.finish(); err != nil {
			t.Fatal(err)
		}
		if got := w.Body.String(); got != "text" || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: body %q, headers %v", coding, got, w.Header())
		}
	}
}

func TestLongBodyOfBlocksIsOneStream(t *testing.T) {
	for _, coding := range servetest.Codings[1:] {
		out, w, _ := newTestResponse(coding)
		var encoded int64
		out.encoded = &encoded
		if err := blocksOf(10 * encode.PieceSize)(out); err != nil {
			t.Fatal(err)
		}
		if written, err := out.finish(); !written || err != nil {
			t.Fatalf("%s: %v, %v", coding, written, err)
		}
		if got := servetest.Decoded(t, w); len(got) != 10*encode.PieceSize || encoded != int64(len(got)) {
			t.Errorf("%s: %d bytes, counted as %d before compression", coding, len(got), encoded)
		}
	}
}

// Text that compresses well costs no less: what is written of it is no measure of the work.
func TestTextTakesTurnsByItsLengthBeforeCompression(t *testing.T) {
	for _, coding := range servetest.Codings {
		synctest.Test(t, func(t *testing.T) {
			cpu := flowcontrol.NewCPU(1)
			busy := cpu.Work(t.Context(), limits.Caller{Group: "busy"}, 1<<30)
			if err := busy.Next(); err != nil {
				t.Fatal(err)
			}
			short := cpu.Work(t.Context(), limits.Caller{Group: "short"}, 0)
			defer short.Rest()
			out, w, _ := newTestResponse(coding)
			out.work = short
			var written atomic.Int64
			done := make(chan error, 1)
			go func() {
				for written.Load() < 10<<20 {
					if err := out.add(make([]byte, 2*encode.PieceSize)); err != nil {
						done <- err
						return
					}
					written.Add(2 * encode.PieceSize)
				}
				_, err := out.finish()
				done <- err
			}()
			synctest.Wait()
			if n := written.Load(); n < encode.PieceSize || n > 512<<10 {
				t.Errorf("%q: it waits for a turn after %d bytes", coding, n)
			}
			busy.Rest()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := len(servetest.Decoded(t, w)); int64(got) != written.Load() {
				t.Errorf("%q: %d bytes of %d", coding, got, written.Load())
			}
		})
	}
}

// A slow reader of memoized text must not hold a buffer besides it.
func TestSharedTextNeedsNoBuffer(t *testing.T) {
	out, _, _ := newTestResponse("")
	if err := out.add(make([]byte, 10*encode.PieceSize)); err != nil {
		t.Fatal(err)
	}
	if n := cap(out.buf); n != 0 {
		t.Errorf("the buffer has %d bytes", n)
	}
}
