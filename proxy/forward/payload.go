package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/codec/yaml"
	"sluice/proxy/request"
)

// errUpload is returned when the caller does not finish what it sends.
var errUpload = errors.New("request body was not finished")

const (
	mediaApplyCBOR = "application/apply-patch+cbor"
	mediaApplyYAML = "application/apply-patch+yaml" // JSON is YAML
)

// payload is a request body that is held, to be sent more than once or to be
// converted. It is sent as it came, once, if it cannot be held.
type payload struct {
	held     []byte
	rest     io.ReadCloser // what is not held; nil when held is all
	long     bool          // it is longer than what is converted
	encoding codec.Encoding
	jsonType string // the Content-Type it has as JSON; empty when it is not converted
	json     []byte
	refusal  error    // why there is no JSON, as a Status
	warnings []string // what the apiserver would have said about it as it came
}

// errSlow is returned when the caller takes too long to send what it sends.
var errSlow = &codec.Status{Message: "the request body was not sent in time", Reason: "Timeout", Code: http.StatusRequestTimeout}

// uploadTime is how long a body may take that is held: the apiserver's own
// limit of whole requests.
const uploadTime = time.Minute

// payloadOf holds the body as far as the limit allows and there is room; what
// cannot be held is sent as it came, once. Nothing of GETs is held, which mean
// nothing by a body, nor of requests whose sender waits to be told to go on.
func payloadOf(r *http.Request, l *lease, deadline func(time.Duration)) (*payload, error) {
	p := &payload{}
	p.encoding, p.jsonType = convertible(r)
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.Method == http.MethodGet || r.Header.Get("Expect") != "":
		p.rest = r.Body
	default:
		deadline(uploadTime)
		if err := p.hold(r.Body, l); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSlow // and the deadline stays: nothing more is awaited
		} else if err != nil {
			return nil, fmt.Errorf("%w: %w", errUpload, err)
		}
		deadline(0)
	}
	if p.whole() && len(p.held) == 0 && r.Method == http.MethodDelete {
		p.jsonType = ""
	}
	return p, nil
}

// hold reads the body in pieces, each of which takes its room.
func (p *payload) hold(body io.ReadCloser, l *lease) error {
	for {
		if size := cap(p.held); len(p.held) == size {
			more := min(max(2*size, firstRead), maxRequest+1)
			if l.hold(int64(size+more)) != nil {
				p.rest = body
				return nil
			}
			p.held = append(make([]byte, 0, more), p.held...)
			l.shrink(int64(more))
		}
		n, err := body.Read(p.held[len(p.held):cap(p.held)])
		p.held = p.held[:len(p.held)+n]
		switch {
		case len(p.held) > maxRequest:
			p.rest, p.long = body, true
			return nil
		case errors.Is(err, io.EOF):
			return body.Close()
		case err != nil:
			return err
		}
	}
}

// drop forgets the body.
func (p *payload) drop() { p.held, p.json = nil, nil }

// convertible returns the encoding of the body and what Content-Type it has as
// JSON, if the API has a request of that kind in JSON at all.
func convertible(r *http.Request) (codec.Encoding, string) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	patch := r.Method == http.MethodPatch
	switch {
	case r.Method == http.MethodGet:
	case err != nil || r.Header.Get("Content-Encoding") != "":
	case media == mediaApplyCBOR && patch:
		return codec.CBOR, mediaApplyYAML
	case media == codec.MediaCBOR && !patch:
		return codec.CBOR, codec.MediaJSON
	case media == codec.MediaYAML && !patch:
		return codec.YAML, codec.MediaJSON
	}
	return codec.JSON, ""
}

// whole reports whether the body can be sent again.
func (p *payload) whole() bool { return p.rest == nil }

// isCBOR reports whether the body is CBOR that could be sent as JSON.
func (p *payload) isCBOR() bool { return p.jsonType != "" && p.encoding == codec.CBOR }

// body returns the body as it came.
func (p *payload) body() io.ReadCloser {
	if p.rest != nil {
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(p.held), p.rest), p.rest}
	}
	return io.NopCloser(bytes.NewReader(p.held))
}

// jsonBody returns the body in JSON.
func (p *payload) jsonBody() io.ReadCloser { return io.NopCloser(bytes.NewReader(p.json)) }

// size is how many bytes are held.
func (p *payload) size() int64 { return int64(cap(p.held) + cap(p.json)) }

// convert makes JSON of the body, or returns the Status by which the apiserver
// refuses it.
func (p *payload) convert(info *request.Info, l *lease) error {
	if p.refusal != nil || p.json != nil {
		return p.refusal
	}
	nodes := p.nodes()
	if nodes > maxNodes {
		p.refusal = &codec.Status{
			Message: fmt.Sprintf("the object has too many parts to be converted: limit is %d", maxNodes),
			Reason:  "RequestEntityTooLarge", Code: http.StatusRequestEntityTooLarge,
		}
		return p.refusal
	}
	if err := l.hold(p.size() + nodeRoom(p.encoding)*int64(nodes) + p.escaped()); err != nil {
		return err
	}
	p.refusal = p.make(info)
	l.shrink(p.size())
	return p.refusal
}

func (p *payload) make(info *request.Info) (err error) {
	if p.encoding == codec.YAML { // of which little may become much
		p.json, err = yaml.ToJSON(nil, p.held, yaml.Limits{Output: maxRequest})
	} else {
		p.json, err = cbor.AppendJSON(nil, p.held, cbor.Limits{Output: maxRequest})
	}
	switch {
	case errors.Is(err, yaml.ErrSize), errors.Is(err, cbor.ErrSize), len(p.json) > maxRequest:
		return codec.NewEntityTooLarge(maxRequest)
	case err != nil:
		return codec.NewBadRequest("the object provided is unrecognized: " + err.Error())
	case p.encoding == codec.YAML:
		return p.validate(info)
	}
	return nil
}

// maxEscape is how many bytes of JSON one byte of CBOR can become.
const maxEscape = 6

const (
	// maxNodes is how many parts a body may have that is converted, as nodes
	// counts them: more than 3 MiB of any object of the API have.
	maxNodes = 200_000
)

// nodeRoom is what decoding takes for each part, in bytes: measured at the
// worst that a body can do.
func nodeRoom(e codec.Encoding) int64 {
	if e == codec.CBOR {
		return 256
	}
	return 512
}

// escaped is what all texts take in JSON, which grows by copying.
func (p *payload) escaped() int64 {
	n := len(p.held)
	for _, c := range p.held {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			n += maxEscape - 1
		}
	}
	return 2 * int64(n)
}

// nodes counts, before anything is decoded, what the decoder makes values of:
// in CBOR the heads, in YAML the characters behind which a value can begin.
func (p *payload) nodes() int {
	if p.encoding == codec.CBOR {
		return cbor.Heads(p.held, maxNodes)
	}
	n := 1
	for _, c := range p.held {
		switch c {
		case ',', ':', '[', '{', '-', '?', '\n', '\r', '*', '&', '!':
			n++
		}
	}
	return n
}

// validate looks for names that are set twice, which the JSON does not show
// any more: the apiserver warns of them or refuses them, by the query
// parameter fieldValidation. In CBOR they are an error in any case.
func (p *payload) validate(info *request.Info) error {
	complaint := yaml.Strict(p.held, yaml.Limits{Size: maxRequest})
	if complaint == nil {
		return nil
	}
	switch info.Query.Get("fieldValidation") {
	case "", "Warn":
		p.warnings = warningsOf(complaint.Error())
	case "Strict":
		return codec.NewBadRequest(unhandled(p.json, "strict decoding error: "+complaint.Error()))
	}
	return nil // what is neither of these nor Ignore, the upstream refuses
}

// warningsOf makes a header value of each line of a parser's complaint, but for
// the first, as the apiserver does.
func warningsOf(complaint string) []string {
	var values []string
	for line := range strings.SplitSeq(strings.TrimPrefix(complaint, "yaml: unmarshal errors:\n"), "\n") {
		if v, err := utilnet.NewWarningHeader(299, "-", strings.TrimSpace(line)); err == nil {
			values = append(values, v)
		}
		if len(values) == maxWarnings {
			break
		}
	}
	return values
}

// maxWarnings bounds the warnings about one body.
const maxWarnings = 20

// unhandled says of an object in the apiserver's words why it is not taken.
func unhandled(object json.Value, why string) string {
	kind, _ := object.Get("kind").Text()
	version, _ := object.Get("apiVersion").Text()
	version = version[strings.IndexByte(version, '/')+1:]
	if kind == "" {
		return "the object provided is unrecognized: " + why
	}
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", kind, version, kind, why)
}
