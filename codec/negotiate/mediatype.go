package negotiate

import (
	"strings"

	"github.com/munnerz/goautoneg"

	"sluice/codec"
	"sluice/codec/projection"
)

// conversion is the group, version and kind to which a clause asks objects to be converted.
type conversion struct {
	wanted               bool // the clause has as, g or v
	group, version, kind string
}

// rules are the restrictions of an endpoint, as the apiserver calls them. They differ between typed and
// unstructured resources, and for errors.
type rules struct {
	convert bool           // conversions are allowed
	noProto bool           // unconverted objects cannot be Protobuf: custom resources have no schema for it
	metaV1  bool           // sv=v1 is allowed
	project bool           // keep, drop and quiet are known
	last    codec.Encoding // the last encoding that is offered
}

// match is the result of the chosen clause.
type match struct {
	encoding codec.Encoding
	convert  conversion
	pretty   bool
	fields   projection.Projection
	quiet    bool
}

func rulesFor(e Endpoint) rules {
	return rules{
		convert: true, noProto: e.Style == codec.Unstructured, metaV1: true,
		project: e.Projections, last: lastEncoding(e.CBOR),
	}
}

func errorRules(cbor bool) rules { return rules{last: lastEncoding(cbor)} }

func lastEncoding(cbor bool) codec.Encoding {
	if cbor {
		return codec.CBOR
	}
	return codec.Protobuf
}

// choose returns the first acceptable pair of clause and encoding (wire.md 1.2).
func (r rules) choose(accept string) (match, bool) {
	if accept == "" {
		return match{}, true
	}
	cs := clauses(accept)
	for i := range cs {
		fields, err := r.projection(cs[i].Params)
		if err != nil {
			continue
		}
		for e := codec.JSON; e <= r.last; e++ {
			if !covers(&cs[i], e) {
				continue
			}
			if m, ok := r.accept(cs[i].Params, e); ok {
				m.fields = fields
				return m, true
			}
		}
	}
	return match{}, false
}

// covers reports whether the media range of a clause includes the encoding.
func covers(c *goautoneg.Accept, e codec.Encoding) bool {
	switch c.Type {
	case "application":
		return c.SubType == "*" || c.SubType == strings.TrimPrefix(e.MediaType(), "application/")
	case "*":
		return c.SubType == "*"
	}
	return false
}

// accept checks the parameters of a clause against an encoding that it covers. Unknown parameters are
// ignored.
func (r rules) accept(params map[string]string, e codec.Encoding) (match, bool) {
	m := match{encoding: e}
	for k, v := range params {
		switch k {
		case "as":
			m.convert.wanted, m.convert.kind = true, v
		case "g":
			m.convert.wanted, m.convert.group = true, v
		case "v":
			m.convert.wanted, m.convert.version = true, v
		case "stream":
			if _, streams := e.StreamType(); v != "" && (v != "watch" || !streams) {
				return match{}, false
			}
		case "sv":
			if v != "" && !(r.metaV1 && v == "v1") {
				return match{}, false
			}
		case "pretty":
			m.pretty = v == "1"
		case "quiet":
			m.quiet = r.project && v == "1"
		}
	}
	return m, r.allows(m)
}

// projection returns the projection of a clause. Tables honor drop=metadata.managedFields only: cells need the other fields.
func (r rules) projection(params map[string]string) (projection.Projection, error) {
	if !r.project {
		return "", nil
	}
	p, err := projection.Parse(params["keep"], params["drop"])
	if params["as"] == "Table" && p != projection.WithoutManagedFields {
		p = ""
	}
	return p, err
}

// allows reports whether the endpoint gives this encoding with this conversion.
func (r rules) allows(m match) bool {
	if !m.convert.wanted {
		return !(r.noProto && m.encoding == codec.Protobuf)
	}
	if _, ok := m.convert.metaVersion(); !ok || !r.convert {
		return false
	}
	switch m.convert.kind {
	case "Table":
		return m.encoding == codec.JSON || m.encoding == codec.YAML
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

// metaVersion returns the requested version of meta.k8s.io, and false for any other group or version.
func (c conversion) metaVersion() (codec.MetaVersion, bool) {
	if c.group != "meta.k8s.io" {
		return 0, false
	}
	switch c.version {
	case "v1":
		return codec.MetaV1, true
	case "v1beta1":
		return codec.MetaV1beta1, true
	}
	return 0, false
}
