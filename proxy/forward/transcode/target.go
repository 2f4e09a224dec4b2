package transcode

import (
	"net/http"
	"strings"

	"sluice/codec"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// target is the format of the response to a client that does not accept plain JSON, if it can be
// made from JSON.
type target struct {
	client codec.Client
	format codec.Format
	watch  bool
	// onlyCBOR says that the client accepts nothing that a server without CBOR supports.
	onlyCBOR bool
}

var verbs = map[string]codec.Verb{"list": codec.List, "watch": codec.Watch}

// targetOf returns the target of a request, nil if the client accepts JSON or if no acceptable
// format can be made from JSON.
func targetOf(r *http.Request, info *request.Info) *target {
	t := &target{client: response.Client(r, info), watch: info.Verb == "watch"}
	if t.client.Takes(codec.JSON) {
		return nil
	}
	// The apiserver reads Accept in two ways. Unstructured is the more permissive one: what only the
	// other refuses is no reason to refuse a client.
	permissive := codec.Target{Verb: verbs[info.Verb], Style: codec.Unstructured, CBOR: true}
	d := codec.Negotiate(t.client, permissive)
	if d.Refusal != nil || d.Format.Shape == codec.MetadataList {
		return nil
	}
	t.format = d.Format
	strict := permissive
	strict.Style, strict.CBOR = codec.Typed, false
	t.onlyCBOR = d.Format.Encoding == codec.CBOR && codec.Negotiate(t.client, strict).Refusal != nil
	return t
}

// jsonAccept returns the Accept header of a request for JSON from which the target can be made: the
// target's shape if the upstream supports it, otherwise whole objects.
func (t *target) jsonAccept(info *request.Info) string {
	as := ""
	switch {
	case t.format.Shape == codec.Table:
		as = "Table"
	case t.format.Shape == codec.Metadata && info.Verb == "list":
		as = "PartialObjectMetadataList"
	case t.format.Shape == codec.Metadata:
		as = "PartialObjectMetadata"
	default:
		return codec.MediaJSON
	}
	version := strings.TrimPrefix(t.format.MetaVersion.String(), "meta.k8s.io/")
	return codec.MediaJSON + ";as=" + as + ";g=meta.k8s.io;v=" + version + "," + codec.MediaJSON
}
