package transcode

import (
	"net/http"
	"strings"

	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/codec/projection"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// target is the format of the response to a client that does not accept plain JSON, if it can be
// made from JSON.
type target struct {
	client negotiate.Request
	format codec.Format
	watch  bool
	// unmanaged is true if the client wants no managed fields; only the apiserver knows whether it supports that.
	unmanaged bool
}

// targetOf returns the target of a request, nil if the client accepts JSON or if no acceptable
// format can be made from JSON. It is also nil if the router of every apiserver refuses the Accept
// header of a typed resource, such as application/*: that refusal is final.
func targetOf(r *http.Request, info *request.Info) *target {
	t := &target{client: response.Negotiation(r, &info.Parsed), watch: info.Verb == "watch"}
	if t.client.Accepts(codec.JSON) {
		return nil
	}
	// The apiserver reads Accept in two ways. Unstructured is the more permissive one: a refusal
	// of the other alone is no reason to refuse a client.
	verb, _ := negotiate.ParseVerb(info.Verb) // a write is answered with one object, as a get
	permissive := negotiate.Endpoint{Verb: verb, Style: codec.Unstructured, CBOR: true, Projections: true}
	var ok bool
	if t.format, ok = negotiate.Format(t.client, permissive); !ok {
		permissive.Projections = false // an apiserver that does not know them accepts any value
		t.format, ok = negotiate.Format(t.client, permissive)
	}
	if !ok || !negotiate.RouteAccepts(t.client.Accept, permissive) {
		return nil
	}
	t.unmanaged = t.format.Projection == projection.WithoutManagedFields
	t.format.Projection, t.format.Quiet = "", false
	return t
}

// jsonAccept returns the Accept header of a request for JSON from which the target can be made: the
// target's shape if the upstream supports it, otherwise whole objects.
func (t *target) jsonAccept(info *request.Info) string {
	plain, as := codec.MediaJSON, ""
	if t.unmanaged {
		plain += ";" + string(projection.WithoutManagedFields)
	}
	switch {
	case t.format.Shape == codec.Table:
		as = "Table"
	case t.format.Shape == codec.Metadata && info.Verb == "list":
		as = "PartialObjectMetadataList"
	case t.format.Shape == codec.Metadata:
		as = "PartialObjectMetadata"
	default:
		return plain
	}
	version := strings.TrimPrefix(t.format.MetaVersion.String(), "meta.k8s.io/")
	return plain + ";as=" + as + ";g=meta.k8s.io;v=" + version + "," + plain
}
