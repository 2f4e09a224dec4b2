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
	"sluice/proxy/response"
)

// errCut is returned when the upstream does not finish its answer.
var errCut = errors.New("upstream answer was cut")

// isJSON reports whether the answer's body is JSON that can be read here.
func isJSON(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	return err == nil && media == codec.MediaJSON && (coding == "" || coding == "gzip")
}

// bodiless reports whether an answer of that code has no body by its nature.
func bodiless(code int) bool {
	return code < http.StatusOK || code == http.StatusNoContent || code == http.StatusNotModified
}

// convert makes of an answer in JSON what the client wants. An answer to the
// request as it came is left alone unless it is an object, in a form that the
// client does not take though its sender knew.
func (t *translation) convert(resp *http.Response) (*http.Response, error) {
	good := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusAccepted
	switch {
	case !good && t.asksJSON:
		return t.convertError(resp), nil
	case !good:
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
	format := t.wish.format
	out, err := t.render(body, format)
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		format, out = codec.Format{}, body
	case err != nil:
		return nil, err
	}
	return t.made(resp, out, format), nil
}

// render makes the answer out of JSON. The error is a Status, or
// codec.ErrUnsupported.
func (t *translation) render(body []byte, f codec.Format) ([]byte, error) {
	switch err := json.Valid(body, json.Limits{AllowInvalidUTF8: true, Depth: maxNesting}); {
	case errors.Is(err, json.ErrDepth):
		return nil, t.unacceptable(fmt.Sprintf("is nested too deep to be converted to %s: limit is %d levels", f.Encoding.MediaType(), maxNesting))
	case err != nil:
		return nil, unconvertible(err)
	}
	size := t.wish.estimate(body, f)
	if size > maxMade {
		return nil, t.unacceptable(fmt.Sprintf("would become too large as %s: limit is %d bytes", f.Encoding.MediaType(), maxMade))
	}
	if err := t.lease.hold(int64(cap(body)) + size); err != nil {
		return nil, err
	}
	out, err := t.wish.render(make([]byte, 0, size), body, f)
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		return nil, err
	case err != nil:
		return nil, unconvertible(err)
	case cap(out) > 2*len(out): // it was estimated by the worst case
		out = slices.Clone(out)
	}
	return out, nil
}

func unconvertible(err error) error {
	return codec.NewServerError("the apiserver's answer cannot be converted: " + err.Error())
}

func (t *translation) unacceptable(why string) error {
	return codec.NewNotAcceptable("the answer " + why)
}

// Limits of errors that are converted, in bytes: what they have at most, and
// what is set aside for one.
const (
	maxError  = 1 << 20
	errorRoom = 4 * maxError
)

// convertError makes of an error what the client reads. One that cannot be
// converted passes as it is: what it says counts more than its form.
func (t *translation) convertError(resp *http.Response) *http.Response {
	if resp.Header.Get("Content-Encoding") != "" || t.lease.hold(errorRoom) != nil {
		return resp
	}
	body, err := peek(resp, maxError+1)
	if err != nil || len(body) > maxError || json.Valid(body, json.Limits{AllowInvalidUTF8: true, Depth: maxNesting}) != nil {
		return resp
	}
	format := response.ErrorFormat(t.wish.client, resp.StatusCode)
	if estimate(body, format, 0) > errorRoom-maxError {
		return resp
	}
	out, err := t.wish.renderError(nil, body, format)
	if err != nil {
		return resp
	}
	resp.Body.Close()
	return t.made(resp, out, format)
}

// peek returns up to n bytes of the answer's body, which still has them. Where
// it is cut, so it is for who reads it.
func peek(resp *http.Response, n int64) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, n))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return head, err
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// made returns the answer with another body.
func (t *translation) made(resp *http.Response, out []byte, f codec.Format) *http.Response {
	t.info.Outcome.Transcoded = true
	t.info.Outcome.Format = f.Encoding.String()
	resp = remade(resp, f.ContentType(false))
	t.put(resp, out)
	return resp
}

// remade returns the answer without what its headers and trailers say of the
// bytes of its body.
func remade(resp *http.Response, contentType string) *http.Response {
	again := *resp
	again.Trailer = nil
	for _, name := range []string{"Etag", "Digest", "Content-Digest", "Repr-Digest", "Content-Md5", "Accept-Ranges", "Trailer"} {
		again.Header.Del(name)
	}
	again.Header.Set("Content-Type", contentType)
	return &again
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
	if err := t.lease.hold(firstRead); err != nil {
		return nil, err
	}
	body := make([]byte, 0, firstRead)
	for {
		if len(body) == cap(body) {
			more := min(2*cap(body), maxAnswer+1)
			if err := t.lease.hold(int64(cap(body) + more)); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, more), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxAnswer:
			return nil, t.unacceptable(fmt.Sprintf("is too large to be converted to %s: limit is %d bytes",
				t.wish.format.Encoding.MediaType(), maxAnswer))
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

// firstRead is how much room is made for a body at first, in bytes.
const firstRead = 16 << 10

// put makes out the body of the answer.
func (t *translation) put(resp *http.Response, out []byte) {
	resp.Header.Del("Content-Encoding")
	coding := response.Accepted(t.request.Header)
	if len(out) <= response.CompressFrom {
		coding = splice.Identity
	}
	response.SetCoding(resp.Header, coding)
	if coding != splice.Identity {
		out = pack(coding, out)
	}
	t.lease.shrink(int64(cap(out)))
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
