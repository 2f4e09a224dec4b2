package codec

import "github.com/munnerz/goautoneg"

// conversion is the group, version and kind that a clause asks objects to be turned into.
type conversion struct {
	wanted               bool // any of as, g, v was there
	group, version, kind string
}

// rules are what an endpoint allows; they differ between typed and unstructured resources, and for errors.
type rules struct {
	convert  bool // conversions are allowed
	noProto  bool // unconverted objects cannot be Protobuf: there is no schema
	metaV1   bool // sv=v1 is allowed
	drop     bool // fields can be left out
	maxMedia Encoding
}

// match is a clause's outcome: the encoding and the parameters that came with it.
type match struct {
	encoding Encoding
	convert  conversion
	pretty   bool
	drop     bool // of metadata.managedFields
}

func rulesFor(t Target) rules {
	return rules{convert: true, noProto: t.Style == Unstructured, metaV1: true, drop: t.Drop, maxMedia: lastMedia(t.CBOR)}
}

func errorRules(cbor bool) rules { return rules{maxMedia: lastMedia(cbor)} }

func lastMedia(cbor bool) Encoding {
	if cbor {
		return CBOR
	}
	return Protobuf
}

// choose finds the first clause and media type that fit (wire.md 1.2).
func (r rules) choose(accept string) (match, bool) {
	if accept == "" {
		return match{}, true
	}
	cs := clauses(accept)
	for i := range cs {
		for e := JSON; e <= r.maxMedia; e++ {
			if !covers(&cs[i], e) {
				continue
			}
			if m, ok := r.accept(cs[i].Params, e); ok {
				return m, true
			}
		}
	}
	return match{}, false
}

// covers says whether a clause's media range holds the encoding.
func covers(c *goautoneg.Accept, e Encoding) bool {
	switch c.Type {
	case "application":
		return c.SubType == "*" || c.SubType == encodings[e].subtype
	case "*":
		return c.SubType == "*"
	}
	return false
}

// accept checks a clause's parameters against an encoding it covers. Unknown parameters are ignored.
func (r rules) accept(params map[string]string, e Encoding) (match, bool) {
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
			if v != "" && (v != "watch" || encodings[e].stream == "") {
				return match{}, false
			}
		case "sv":
			if v != "" && !(r.metaV1 && v == "v1") {
				return match{}, false
			}
		case "pretty":
			m.pretty = v == "1"
		case "drop":
			if r.drop && v != "" && v != dropManagedFields {
				return match{}, false
			}
			m.drop = r.drop && v != ""
		}
	}
	return m, r.allows(m)
}

// allows says whether the endpoint gives this encoding converted as asked.
func (r rules) allows(m match) bool {
	if !m.convert.wanted {
		return !(r.noProto && m.encoding == Protobuf)
	}
	if _, ok := m.convert.metaVersion(); !ok || !r.convert {
		return false
	}
	switch m.convert.kind {
	case "Table":
		return m.encoding == JSON || m.encoding == YAML
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

// metaVersion returns the version of meta.k8s.io that is asked for, and false for anything else.
func (c conversion) metaVersion() (MetaVersion, bool) {
	if c.group != "meta.k8s.io" {
		return 0, false
	}
	switch c.version {
	case "v1":
		return MetaV1, true
	case "v1beta1":
		return MetaV1beta1, true
	}
	return 0, false
}
