package forward

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/splice"
	"sluice/proxy/reply"
)

// errCut is returned when the upstream does not finish its answer.
var errCut = errors.New("upstream answer was cut")

// isJSON reports whether the answer's body is JSON that can be read here.
func isJSON(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	return err == nil && media == codec.MediaJSON && (coding == "" || coding == "gzip")
}

// convert makes of an answer in JSON what the client wants. An answer to the
// request as it came is left alone unless it is an object, in a form that the
// client does not take though its sender knew.
func (t *translation) convert(resp *http.Response) (*http.Response, error) {
	good := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusAccepted
	switch {
	case !t.asksJSON && !good:
		return resp, nil
	case t.wish.watch && resp.StatusCode == http.StatusOK:
		return t.stream(resp)
	case !t.asksJSON && t.wish.format.Encoding == codec.JSON && t.shaped(resp):
		return resp, nil
	}
	body, err := t.read(resp)
	if err != nil {
		return nil, err
	}
	format, render := t.wish.format, t.wish.render
	if !good {
		format, render = reply.ErrorFormat(t.wish.client, resp.StatusCode), t.wish.renderError
	}
	out, err := render(nil, body, format)
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		format, out = codec.Format{}, body
	case err != nil:
		return nil, codec.NewServerError("the apiserver's answer cannot be converted: " + err.Error())
	}
	t.info.Outcome.Transcoded = true
	t.info.Outcome.Format = format.Encoding.String()
	resp.Header.Set("Content-Type", format.ContentType(false))
	t.put(resp, out)
	return resp, nil
}

// peekSize is how much of an answer is looked at to tell its kind.
const peekSize = 4 << 10

// shaped reports whether the answer begins as the Table or metadata that the
// client wants: the kind of those stands first.
func (t *translation) shaped(resp *http.Response) bool {
	in := bufio.NewReaderSize(resp.Body, peekSize)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{in, resp.Body}
	head, _ := in.Peek(peekSize)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		head, _ = io.ReadAll(io.LimitReader(z, peekSize)) // it ends early
	}
	return t.wish.has(head)
}

// has reports whether an object, of which the end may be missing, is of the
// kind that the wish is for.
func (w *wish) has(object json.Value) bool {
	kind := ""
	for name, value := range object.Members {
		if string(name) == "kind" {
			kind, _ = value.Text()
			break
		}
	}
	switch w.format.Shape {
	case codec.Table:
		return kind == "Table" || kind == "Status"
	case codec.Metadata:
		return kind == "PartialObjectMetadata" || kind == "PartialObjectMetadataList" || kind == "Status"
	}
	return true
}

// read returns the whole body, unpacked.
func (t *translation) read(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	in := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCut, err)
		}
		in = z
	}
	body := make([]byte, 0, firstRead)
	for {
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
		// What is made of it takes about as much again.
		if err := t.lease.hold(t.payload.size() + 2*int64(cap(body))); err != nil {
			return nil, err
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxAnswer:
			return nil, codec.NewNotAcceptable(fmt.Sprintf("the answer is too large to be converted to %s: limit is %d bytes",
				t.wish.format.Encoding.MediaType(), maxAnswer))
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

// firstRead is how much room is made for an answer at first, in bytes.
const firstRead = 16 << 10

// put makes out the body of the answer.
func (t *translation) put(resp *http.Response, out []byte) {
	resp.Header.Del("Content-Encoding")
	coding := reply.Accepted(t.request.Header)
	if len(out) <= reply.CompressFrom {
		coding = splice.Identity
	}
	reply.SetCoding(resp.Header, coding)
	if coding != splice.Identity {
		out = pack(coding, out)
	}
	resp.Body = io.NopCloser(bytes.NewReader(out))
	resp.ContentLength = int64(len(out))
	resp.TransferEncoding = nil
	resp.Header.Set("Content-Length", strconv.Itoa(len(out)))
}

func pack(c splice.Coding, plain []byte) []byte {
	s := splice.NewStream(c)
	block := c.Compress(nil, plain)
	s.Add(&block)
	return s.End(append(s.Begin(nil), block.Data...))
}
