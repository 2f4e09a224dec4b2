package forward

import (
	"net/http"
	"strings"

	"sluice/codec"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// wish is a format that a client wants and that can be made out of JSON, by a
// client that does not take JSON as it is.
type wish struct {
	client codec.Client
	format codec.Format
	watch  bool
	// onlyCBOR says that without CBOR the client can be given nothing.
	onlyCBOR bool
}

var verbs = map[string]codec.Verb{"list": codec.List, "watch": codec.Watch}

// wishOf returns what the client wants, nil if nothing can be done for it.
func wishOf(r *http.Request, info *request.Info) *wish {
	w := &wish{client: response.Client(r, info), watch: info.Verb == "watch"}
	if w.client.Takes(codec.JSON) {
		return nil
	}
	// The looser of the apiserver's two ways of reading Accept: what the
	// stricter refuses and this does not is no reason to refuse a client.
	target := codec.Target{Verb: verbs[info.Verb], Style: codec.Unstructured, CBOR: true}
	d := codec.Negotiate(w.client, target)
	if d.Refusal != nil || d.Format.Shape == codec.MetadataList {
		return nil
	}
	w.format = d.Format
	target.Style, target.CBOR = codec.Typed, false
	w.onlyCBOR = codec.Negotiate(w.client, target).Refusal != nil && d.Format.Encoding == codec.CBOR
	return w
}

// accept is how to ask for what the format can be made of: the shape as the
// upstream makes it, or else whole objects.
func (w *wish) accept(info *request.Info) string {
	as := ""
	switch {
	case w.format.Shape == codec.Table:
		as = "Table"
	case w.format.Shape == codec.Metadata && info.Verb == "list":
		as = "PartialObjectMetadataList"
	case w.format.Shape == codec.Metadata:
		as = "PartialObjectMetadata"
	default:
		return codec.MediaJSON
	}
	version := strings.TrimPrefix(w.format.MetaVersion.String(), "meta.k8s.io/")
	return codec.MediaJSON + ";as=" + as + ";g=meta.k8s.io;v=" + version + "," + codec.MediaJSON
}
