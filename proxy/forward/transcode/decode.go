package transcode

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/codec/yaml"
	"sluice/proxy/message"
	"sluice/proxy/request"
)

const (
	// maxNodes bounds the nodes of a body that is decoded, as countNodes counts them. No object of
	// the API with 3 MiB has as many.
	maxNodes = 200_000
	// cborNodeBytes and yamlNodeBytes are the memory that decoding takes per node, measured with
	// the most expensive bodies.
	cborNodeBytes = 256
	yamlNodeBytes = 512
	// maxEscape is how many bytes of JSON one byte of CBOR can become.
	maxEscape = 6
	// maxWarnings bounds the warnings about one body.
	maxWarnings = 20
)

// decode sets json, or returns the *apierrors.StatusError with which the apiserver refuses the
// body. Later calls return the same.
func (b *requestBody) decode(info *request.Info, memory *reservation) error {
	if b.refusal != nil || b.json != nil {
		return b.refusal
	}
	nodes := b.countNodes()
	if nodes > maxNodes {
		b.refusal = &apierrors.StatusError{ErrStatus: metav1.Status{
			Message: message.TooManyParts.Say(maxNodes),
			Reason:  metav1.StatusReasonRequestEntityTooLarge, Code: http.StatusRequestEntityTooLarge,
		}}
		return b.refusal
	}
	if err := memory.reserve(b.decodingSize(nodes)); err != nil {
		return err
	}
	b.refusal = b.toJSON(info)
	memory.shrink(int64(cap(b.json)))
	return b.refusal
}

func (b *requestBody) toJSON(info *request.Info) (err error) {
	if b.encoding == codec.YAML {
		b.json, err = yaml.AppendJSON(nil, b.Bytes, maxRequest) // aliases can expand a small input
	} else {
		b.json, err = cbor.AppendJSON(nil, b.Bytes, maxRequest)
	}
	switch {
	case errors.Is(err, json.ErrSize), len(b.json) > maxRequest:
		return tooLarge()
	case err != nil:
		return apierrors.NewBadRequest("the object provided is unrecognized: " + err.Error())
	case b.encoding == codec.YAML:
		return b.validateFields(info)
	}
	return nil
}

// decodingSize returns the memory that decoding takes at most: that of all nodes, and twice the
// strings in JSON, whose buffer grows by copying.
func (b *requestBody) decodingSize(nodes int) int64 {
	n := len(b.Bytes)
	for _, c := range b.Bytes {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			n += maxEscape - 1
		}
	}
	perNode := int64(yamlNodeBytes)
	if b.encoding == codec.CBOR {
		perNode = cborNodeBytes
	}
	return perNode*int64(nodes) + 2*int64(n)
}

// countNodes counts, without decoding, what a decoder allocates values for: the heads of data items
// in CBOR, in YAML the characters after which a node can begin.
func (b *requestBody) countNodes() int {
	if b.encoding == codec.CBOR {
		return cbor.CountItems(b.Bytes, maxNodes)
	}
	n := 1
	for _, c := range b.Bytes {
		switch c {
		case ',', ':', '[', '{', '-', '?', '\n', '\r', '*', '&', '!':
			n++
		}
	}
	return n
}

// validateFields treats duplicate fields of YAML as the apiserver does by the query parameter
// fieldValidation, since json does not have them any more. In CBOR they are errors in any case.
func (b *requestBody) validateFields(info *request.Info) error {
	duplicates := yaml.StrictError(b.Bytes)
	if duplicates == nil {
		return nil
	}
	switch info.Query.Get("fieldValidation") {
	case "", "Warn":
		b.warnings = warningHeaders(duplicates)
	case "Strict":
		return apierrors.NewBadRequest(cannotBeHandled(b.json, "strict decoding error: "+duplicates.Error()))
	}
	return nil // Ignore; the upstream refuses other values
}

// warningHeaders returns a Warning header value for each line of a YAML error, without its first
// line, as the apiserver does.
func warningHeaders(err error) []string {
	var values []string
	for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n"), "\n") {
		if v, err := utilnet.NewWarningHeader(299, "-", strings.TrimSpace(line)); err == nil {
			values = append(values, v)
		}
		if len(values) == maxWarnings {
			break
		}
	}
	return values
}

// cannotBeHandled returns the apiserver's message for an object that fails strict decoding.
func cannotBeHandled(object json.Value, why string) string {
	kind, _ := object.Get("kind").Text()
	version, _ := object.Get("apiVersion").Text()
	version = version[strings.IndexByte(version, '/')+1:]
	if kind == "" {
		return "the object provided is unrecognized: " + why
	}
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", kind, version, kind, why)
}
