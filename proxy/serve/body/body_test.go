package body

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"sluice/codec/negotiate"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestBody returns the body of a response to a client that accepts a coding, and where its bytes go.
func newTestBody(accepts string) (*Body, *httptest.ResponseRecorder) {
	w := httptest.NewRecorder()
	head := fresh.Head{Plan: &plan.Plan{Query: plan.Query{Info: new(request.Info), Verb: negotiate.List}}}
	return New(w, head, nil, response.Accepted(http.Header{"Accept-Encoding": {accepts}}), encode.PieceSize), w
}

func TestTextIsWrittenInOrder(t *testing.T) {
	for range 15 {
		for _, coding := range servetest.Codings {
			out, w := newTestBody(coding)
			var want []byte
			for range rand.N(50) {
				text := bytes.Repeat([]byte{byte(rand.Uint32())}, rand.N(1<<(2+rand.N(17))))
				want = append(want, text...)
				var err error
				if rand.N(2) == 0 {
					err = out.Add(text)
				} else {
					if err = out.Reserve(); err == nil {
						out.Text = append(out.Text, text...)
						err = out.spill()
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := out.Finish(); err != nil {
				t.Fatal(err)
			}
			compressed := w.Header().Get("Content-Encoding") != ""
			if long := coding != "" && len(want) > response.CompressFrom; compressed != long {
				t.Errorf("%q: %d bytes, compressed %v", coding, len(want), compressed)
			}
			if encoded := out.info.Encoded; compressed && encoded != int64(len(want)) || !compressed && encoded != 0 {
				t.Errorf("%q: %d bytes counted before compression, of %d", coding, encoded, len(want))
			}
			if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
				t.Errorf("%q: %d bytes, want %d", coding, len(got), len(want))
			}
			out.Release()
		}
	}
}

func TestHeadersAreSentWithTheFirstByte(t *testing.T) {
	for _, row := range []struct {
		name  string
		write func(*Body) error
		sent  bool
	}{
		{"nothing", func(*Body) error { return nil }, false},
		{"a piece", func(out *Body) error { return out.Add(make([]byte, encode.PieceSize)) }, false},
		{"more than a piece", func(out *Body) error { return out.Add(make([]byte, encode.PieceSize+1)) }, true},
		{"gathered text", func(out *Body) error { out.Text = make([]byte, encode.PieceSize); return out.spill() }, false},
		{"more gathered text", func(out *Body) error { out.Text = make([]byte, encode.PieceSize+1); return out.spill() }, true},
		{"an empty body", func(out *Body) error { _, err := out.Finish(); return err }, true},
		{"short blocks", blocksOf(encode.PieceSize), false},
		{"long blocks", blocksOf(encode.PieceSize + 1), true},
	} {
		for _, coding := range servetest.Codings[1:] {
			out, w := newTestBody(coding)
			if err := row.write(out); err != nil {
				t.Fatal(err)
			}
			if out.started != row.sent || !row.sent && (w.Body.Len() > 0 || len(w.Header()) > 0) {
				t.Errorf("%s in %s: headers sent %v, want %v", row.name, coding, out.started, row.sent)
			}
		}
	}
}

// blocksOf adds blocks of so many bytes of text.
func blocksOf(n int) func(*Body) error {
	return func(out *Body) error {
		for rest := n; rest > 0; rest -= 1 << 10 {
			b := out.accepted.Compress(nil, make([]byte, min(rest, 1<<10)))
			if err := out.Block(&b); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestShortBodyOfBlocksCanBeWrittenAsText(t *testing.T) {
	for _, coding := range servetest.Codings[1:] {
		out, w := newTestBody(coding)
		if err := blocksOf(encode.PieceSize)(out); err != nil {
			t.Fatal(err)
		}
		if written, err := out.Finish(); written || err != nil {
			t.Fatalf("%s: %v, %v", coding, written, err)
		}
		if err := out.Add([]byte("text")); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Finish(); err != nil {
			t.Fatal(err)
		}
		if got := w.Body.String(); got != "text" || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: body %q, headers %v", coding, got, w.Header())
		}
	}
}

func TestLongBodyOfBlocksIsOneStream(t *testing.T) {
	for _, coding := range servetest.Codings[1:] {
		out, w := newTestBody(coding)
		if err := blocksOf(3 * encode.PieceSize)(out); err != nil {
			t.Fatal(err)
		}
		if written, err := out.Finish(); !written || err != nil {
			t.Fatalf("%s: %v, %v", coding, written, err)
		}
		if got := servetest.Decoded(t, w); len(got) != 3*encode.PieceSize || out.info.Encoded != int64(len(got)) {
			t.Errorf("%s: %d bytes, counted as %d before compression", coding, len(got), out.info.Encoded)
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
			out, w := newTestBody(coding)
			out.Work = short
			var written atomic.Int64
			done := make(chan error, 1)
			go func() {
				for written.Load() < 2<<20 {
					if err := out.Add(make([]byte, 2*encode.PieceSize)); err != nil {
						done <- err
						return
					}
					written.Add(2 * encode.PieceSize)
				}
				_, err := out.Finish()
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
	out, _ := newTestBody("")
	if err := out.Add(make([]byte, 3*encode.PieceSize)); err != nil {
		t.Fatal(err)
	}
	if n := cap(out.Text); n != 0 {
		t.Errorf("the buffer has %d bytes", n)
	}
}
