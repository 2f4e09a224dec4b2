package splice

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	reference "github.com/valyala/gozstd"
)

func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `{"metadata":{"name":"p%d","namespace":"ns%d","uid":"%x"}},`, i, i%7, rand.Uint64())
	}
	return b.Bytes()[:n]
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// unpacker is an independent implementation of a coding.
type unpacker struct {
	name   string
	unpack func(t testing.TB, b []byte) ([]byte, error)
}

// unpackers are the readers of each coding: libraries, which FuzzStream uses, and commands. That of klauspost for zstd
// has the window of RFC 9659.
var unpackers = map[Coding][]unpacker{
	Gzip: {
		{"compress/gzip", func(_ testing.TB, b []byte) ([]byte, error) {
			r, err := stdgzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}},
		{"klauspost", func(_ testing.TB, b []byte) ([]byte, error) {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}},
		{"gzip", func(t testing.TB, b []byte) ([]byte, error) { return command(t, b, "gzip", "-dc") }},
		{"python", func(t testing.TB, b []byte) ([]byte, error) {
			return command(t, b, "python3", "-c", "import sys,gzip;sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))")
		}},
	},
	Zstd: {
		{"klauspost", func(_ testing.TB, b []byte) ([]byte, error) {
			r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderMaxWindow(8<<20))
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(r)
		}},
		{"reference", func(_ testing.TB, b []byte) ([]byte, error) {
			r := reference.NewReader(bytes.NewReader(b))
			defer r.Release()
			return io.ReadAll(r)
		}},
		{"zstd", func(t testing.TB, b []byte) ([]byte, error) { return command(t, b, "zstd", "-dc") }},
	},
}

func command(t testing.TB, in []byte, name string, args ...string) ([]byte, error) {
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(name, "is not installed")
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return out, err
}

// piece is a part of a stream, compressed or stored.
type piece struct {
	data       []byte
	compressed bool
}

// splice returns a stream of the pieces, each packed and unpacked, and their content.
func splice(c Coding, pieces []piece) (out, plain []byte) {
	s := NewStream(c)
	out = s.Begin(nil)
	for _, p := range pieces {
		plain = append(plain, p.data...)
		b := c.Store(nil, p.data)
		if p.compressed {
			b = c.Compress(nil, p.data)
		}
		b = Unpack(b.Pack(nil))
		s.Add(&b)
		out = append(out, b.Data...)
	}
	return s.End(out), plain
}

func TestEveryReaderAcceptsStreams(t *testing.T) {
	long := text(300000)
	for _, row := range []struct {
		name   string
		pieces []piece
	}{
		{"nothing", nil},
		{"empty pieces", []piece{{nil, false}, {nil, true}, {nil, false}}},
		{"plain", []piece{{[]byte("hello"), false}}},
		{"a list", []piece{{[]byte(`{"items":[`), false}, {long[:100000], true}, {[]byte(","), false}, {long[100000:], true}, {[]byte("]}\n"), false}}},
		{"noise", []piece{{noise(70000), true}, {noise(1), true}, {noise(200000), true}}},
		{"long plain", []piece{{noise(3*maxStored + 17), false}, {noise(maxStored), false}, {noise(maxStored + 1), false}}},
		{"the same again", []piece{{long, true}, {long, true}, {long, true}}},
	} {
		for coding, readers := range unpackers {
			b, plain := splice(coding, row.pieces)
			for _, u := range readers {
				t.Run(fmt.Sprint(row.name, " in ", coding, " by ", u.name), func(t *testing.T) {
					got, err := u.unpack(t, b)
					if err != nil || !bytes.Equal(got, plain) {
						t.Errorf("%d bytes instead of %d: %v", len(got), len(plain), err)
					}
				})
			}
		}
	}
}

func TestGzipHeaderEqualsTheApiserver(t *testing.T) {
	var b bytes.Buffer
	w, _ := stdgzip.NewWriterLevel(&b, 1)
	w.Close()
	if got := b.Bytes()[:len(gzipHeader)]; string(got) != gzipHeader {
		t.Errorf("header %x, want %x", gzipHeader, got)
	}
}

func TestBlocksCanBeShared(t *testing.T) {
	data := text(50000)
	b := Gzip.Compress(nil, data)
	g := NewStream(Gzip)
	out := g.Begin(nil)
	for range 5 {
		g.Add(&b)
		out = append(out, b.Data...)
	}
	got, err := unpackers[Gzip][0].unpack(t, g.End(out))
	if err != nil || !bytes.Equal(got, bytes.Repeat(data, 5)) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}

func TestBlocksDoNotChangeDst(t *testing.T) {
	for _, capacity := range []int{3, 1 << 20} {
		dst := append(make([]byte, 0, capacity), "abc"...)
		b := Gzip.Compress(dst, text(5000))
		c := Gzip.Store(dst, []byte("x"))
		if string(dst) != "abc" || b.Plain != 5000 || len(c.Data) != 1+storedHead {
			t.Error("dst changed or wrong block")
		}
	}
}

// Nothing follows the event on the stream.
func TestBlocksAreReadableOnArrival(t *testing.T) {
	for _, c := range []Coding{Gzip, Zstd} {
		t.Run(c.String(), func(t *testing.T) {
			in, out := io.Pipe()
			defer in.Close()
			event := text(7700)
			go func() {
				b := c.Compress(nil, event)
				_, _ = out.Write(append(NewStream(c).Begin(nil), b.Data...))
			}()
			r, err := reader(c, in)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(event))
			if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, event) {
				t.Error("read other bytes than the event:", err)
			}
		})
	}
}

func reader(c Coding, in io.Reader) (io.Reader, error) {
	if c == Gzip {
		return stdgzip.NewReader(in)
	}
	return zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
}

func TestCombineEqualsTheCRCOfTheWhole(t *testing.T) {
	b := noise(1 << 17)
	for range 1000 {
		i, j := rand.IntN(len(b)+1), rand.IntN(len(b)+1)
		i, j = min(i, j), max(i, j)
		got := combine(crc32.ChecksumIEEE(b[:i]), crc32.ChecksumIEEE(b[i:j]), shift(uint64(j-i)))
		if want := crc32.ChecksumIEEE(b[:j]); got != want {
			t.Fatalf("%d+%d: %08x, want %08x", i, j-i, got, want)
		}
	}
	if shift(0) != one || shift(1<<40) != multiply(shift(1<<39), shift(1<<39)) {
		t.Error("shift")
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("hello world"), []byte{3, 1, 0, 2, 9, 9})
	f.Add([]byte(strings.Repeat("a", 70000)), []byte{255, 0, 10, 3, 200, 1})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		var pieces []piece
		rest := data
		for i := 0; i+1 < len(cuts); i += 2 {
			n := min(int(cuts[i])*len(data)/64, len(rest))
			pieces = append(pieces, piece{rest[:n], cuts[i+1]%2 == 1})
			rest = rest[n:]
		}
		for coding, readers := range unpackers {
			b, want := splice(coding, pieces)
			for _, u := range readers[:2] {
				if got, err := u.unpack(t, b); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s by %s: %d bytes instead of %d: %v", coding, u.name, len(got), len(want), err)
				}
			}
		}
	})
}
