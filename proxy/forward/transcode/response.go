package transcode

import (
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
	"sluice/codec/yaml"
	"sluice/proxy/message"
	"sluice/proxy/response"
)

// ErrResponseCut is returned when the upstream does not send its response to the end.
var ErrResponseCut = errors.New("upstream response was cut")

// isJSON reports whether the response has a JSON body that can be read here.
func isJSON(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	coding := resp.Header.Get("Content-Encoding")
	return err == nil && media == codec.MediaJSON && (coding == "" || coding == "gzip")
}

// bodiless reports whether a response with this status code never has a body.
func bodiless(code int) bool {
	return code < http.StatusOK || code == http.StatusNoContent || code == http.StatusNotModified
}

// transcode transcodes a JSON response to the target. Errors and objects that the upstream sent in
// response to the Accept header as received stay as they are if they already have the target's
// form.
func (e *Exchange) transcode(resp *http.Response) (*http.Response, error) {
	success := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusAccepted
	switch {
	case e.asked && e.isRefused(resp): // which is JSON for every client
		return resp, nil
	case !success && e.asked:
		return e.transcodeError(resp), nil
	case !success:
		return resp, nil
	case e.target.watch && resp.StatusCode == http.StatusOK:
		return e.transcodeWatch(resp)
	case !e.asked && e.target.format.Encoding == codec.JSON && e.target.matchesResponse(resp):
		return resp, nil
	}
	body, err := e.readAll(resp)
	if err != nil {
		return nil, err
	}
	format := e.target.format
	out, err := e.transcodeObject(body, format)
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		format, out = codec.Format{}, body
	case err != nil:
		return nil, err
	}
	return e.replaceBody(resp, out, format), nil
}

// transcodeObject transcodes a JSON body. The error is an APIStatus, or codec.ErrUnsupported if
// the body has no such form.
func (e *Exchange) transcodeObject(body []byte, f codec.Format) ([]byte, error) {
	switch err := json.Valid(body, maxDepth); {
	case errors.Is(err, json.ErrDepth):
		return nil, notAcceptable("is nested too deep to be transcoded to %s: limit is %d levels", f, maxDepth)
	case err != nil:
		return nil, cannotTranscode(err)
	}
	size := e.target.maxSize(body, f)
	if size > maxTranscoded {
		return nil, notAcceptable("would become too large as %s: limit is %d bytes", f, maxTranscoded)
	}
	if err := e.memory.Reserve(int64(cap(body)) + size + decoded(body, f)); err != nil {
		return nil, err
	}
	out, err := e.target.appendObject(make([]byte, 0, size), body, f)
	switch {
	case errors.Is(err, codec.ErrUnsupported):
		return nil, err
	case errors.Is(err, json.ErrSize):
		return nil, notAcceptable("is too large for %s: limit is %d bytes an item", f, yaml.MaxObject)
	case err != nil:
		return nil, cannotTranscode(err)
	case cap(out) > 2*len(out): // size is that of the worst case
		out = slices.Clone(out)
	}
	return out, nil
}

// decoded estimates the memory of the values of which CBOR is made: a map takes about 350 bytes, an element of a list 40.
func decoded(body []byte, f codec.Format) int64 {
	if f.Encoding != codec.CBOR {
		return 0
	}
	count := func(c string) int64 { return int64(bytes.Count(body, []byte(c))) }
	return 350*count("{") + 40*(count("[")+count(","))
}

func cannotTranscode(err error) error {
	return response.NewServerError(message.Untranscodable.Say(err))
}

// notAcceptable returns the Status of a response that exceeds a limit. The text takes the media
// type and the limit.
func notAcceptable(text string, f codec.Format, limit int) error {
	return response.NewNotAcceptable(message.Unacceptable.Say(fmt.Sprintf(text, f.Encoding.MediaType(), limit)))
}

// firstRead is the size of the first buffer for a body, in bytes.
const firstRead = 16 << 10

// readAll returns the whole body, decompressed.
func (e *Exchange) readAll(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	in := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrResponseCut, err)
		}
		in = z
	}
	if err := e.memory.Reserve(firstRead); err != nil {
		return nil, err
	}
	body := make([]byte, 0, firstRead)
	for {
		if len(body) == cap(body) {
			larger := min(2*cap(body), maxResponse+1)
			if err := e.memory.Reserve(int64(cap(body) + larger)); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, larger), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxResponse:
			return nil, notAcceptable("is too large to be transcoded to %s: limit is %d bytes", e.target.format, maxResponse)
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrResponseCut, err)
		}
	}
}

// replaceBody returns the response with a transcoded body, compressed if it is long and the client
// accepts that.
func (e *Exchange) replaceBody(resp *http.Response, body []byte, f codec.Format) *http.Response {
	e.info.Outcome.Transcoded = true
	e.info.Outcome.Format = f.Encoding.String()
	resp = withContentType(resp, f.ContentType(false))
	resp.Header.Del("Content-Encoding")
	coding := response.Accepted(e.request.Header)
	if len(body) <= response.CompressFrom {
		coding = splice.Identity
	}
	response.SetCoding(resp.Header, coding)
	if coding != splice.Identity {
		body = compress(coding, body)
	}
	e.memory.Shrink(int64(cap(body)))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.TransferEncoding = nil
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp
}

func compress(c splice.Coding, plain []byte) []byte {
	s := splice.NewStream(c)
	block := c.Compress(nil, plain)
	s.Add(&block)
	return s.End(append(s.Begin(nil), block.Data...))
}

// withContentType returns the response with another Content-Type and without the headers and
// trailers that describe the bytes of the original body.
func withContentType(resp *http.Response, contentType string) *http.Response {
	out := *resp
	out.Trailer = nil
	for _, name := range []string{"Etag", "Digest", "Content-Digest", "Repr-Digest", "Content-Md5", "Accept-Ranges", "Trailer"} {
		out.Header.Del(name)
	}
	out.Header.Set("Content-Type", contentType)
	return &out
}
