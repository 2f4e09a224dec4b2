package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

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
// converted. It is sent as it came if it is too long for that.
type payload struct {
	held     []byte
	rest     io.ReadCloser // what was too long; nil when held is all
	encoding codec.Encoding
	jsonType string // the Content-Type it has as JSON; empty when it is not converted
	json     []byte
	refusal  error    // why there is no JSON, as a Status
	warnings []string // what the apiserver would have said about it as it came
}

// payloadOf reads the body into memory, as far as the limit allows.
func payloadOf(r *http.Request, l *lease) (*payload, error) {
	p := &payload{}
	p.encoding, p.jsonType = convertible(r)
	if r.Body == nil || r.Body == http.NoBody {
		return p, nil
	}
	expected := int64(maxRequest)
	if r.ContentLength >= 0 && r.ContentLength < expected {
		expected = r.ContentLength
	}
	if err := l.hold(expected); err != nil {
		return nil, err
	}
	var err error
	if p.held, err = io.ReadAll(io.LimitReader(r.Body, maxRequest+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", errUpload, err)
	}
	if len(p.held) > maxRequest {
		p.rest = r.Body
		return p, nil
	}
	return p, r.Body.Close()
}

// convertible returns the encoding of the body and what Content-Type it has as
// JSON, if the API has a request of that kind in JSON at all.
func convertible(r *http.Request) (codec.Encoding, string) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	patch := r.Method == http.MethodPatch
	switch {
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
func (p *payload) size() int64 { return int64(len(p.held) + len(p.json)) }

// convert makes JSON of the body, or returns the Status by which the apiserver
// refuses it.
func (p *payload) convert(info *request.Info, l *lease) error {
	if p.refusal != nil || p.json != nil {
		return p.refusal
	}
	if err := l.hold(p.size() + maxEscape*int64(len(p.held)) + maxRequest); err != nil {
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
		p.json, err = cbor.AppendJSON(nil, p.held, cbor.Limits{})
	}
	switch {
	case errors.Is(err, yaml.ErrSize), len(p.json) > maxRequest:
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
