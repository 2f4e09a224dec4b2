package negotiate

import (
	"strconv"
	"strings"

	"sluice/codec"
)

// Format returns the format of a successful response, and false where the apiserver would refuse the
// request (wire.md 1.1 to 1.5) or would end the stream without an event.
func Format(r Request, e Endpoint) (codec.Format, bool) {
	if e.Style == codec.Typed && !RouteAccepts(r.Accept, e) {
		return codec.Format{}, false
	}
	m, ok := rulesFor(e).choose(r.Accept)
	if !ok {
		return codec.Format{}, false
	}
	if f, ok := m.format(r, e); ok {
		return f, true
	}
	return codec.Format{}, false
}

// ProjectionError returns why Format refuses a request because of its parameters keep or drop, nil if it is for another
// reason.
func ProjectionError(r Request, e Endpoint) error {
	for _, c := range clauses(r.Accept) {
		if _, err := rulesFor(e).projection(c.Params); err != nil {
			return err
		}
	}
	return nil
}

// ErrorFormat returns the format of an error response. Errors are never converted, so a client that
// accepts only Tables gets indented JSON (wire.md 1.3). cbor says whether CBOR is offered.
func ErrorFormat(r Request, cbor bool) codec.Format {
	m, ok := errorRules(cbor).choose(r.Accept)
	if !ok {
		return codec.Format{Pretty: true}
	}
	return codec.Format{Encoding: m.encoding, Pretty: m.encoding == codec.JSON && r.wantsPretty(m)}
}

// Accepts reports whether the client accepts unconverted objects in an encoding.
func (r Request) Accepts(e codec.Encoding) bool {
	if r.Accept == "" {
		return true
	}
	rules := rules{metaV1: true, last: codec.CBOR}
	cs := clauses(r.Accept)
	for i := range cs {
		if !covers(&cs[i], e) {
			continue
		}
		if m, ok := rules.accept(cs[i].Params, e); ok && !m.convert.wanted {
			return true
		}
	}
	return false
}

// format returns the canonical Format of a match, and false where the apiserver accepts the media type
// but cannot give the result in it (wire.md 1.4).
func (m match) format(r Request, e Endpoint) (f codec.Format, ok bool) {
	f.Encoding = m.encoding
	f.Pretty = m.encoding == codec.JSON && e.Verb != Watch && r.wantsPretty(m)
	if _, streams := m.encoding.StreamType(); e.Verb == Watch && !streams {
		return f, false
	}
	ok = true
	if m.convert.wanted {
		f.MetaVersion, _ = m.convert.metaVersion()
		switch m.convert.kind {
		case "Table":
			f.Shape = codec.Table
			f.Include, ok = parseInclude(r.IncludeObject)
		case "PartialObjectMetadata":
			f.Shape, ok = codec.Metadata, e.Verb != List || !e.Strict
		case "PartialObjectMetadataList":
			// A get is refused; a watch ends without a byte at its first event.
			f.Shape, ok = codec.Metadata, e.Verb == List
		}
	}
	if f.Shape != codec.Table || f.Include != codec.IncludeNone {
		f.Projection = m.fields
		f.Quiet = m.quiet && m.fields != "" && e.Verb == Watch && f.Shape != codec.Table
	}
	return f, ok
}

// parseInclude reads the query parameter includeObject, which counts only for Tables (wire.md 1.5).
func parseInclude(s string) (include codec.Include, ok bool) {
	switch s {
	case "", "Metadata":
		return codec.IncludeMetadata, true
	case "None":
		return codec.IncludeNone, true
	case "Object":
		return codec.IncludeObject, true
	}
	return 0, false
}

// wantsPretty reports whether the client wants indented JSON: by the matched media type, else by the
// query parameter if it has a value, else because it is a browser or a command line tool (wire.md 9).
func (r Request) wantsPretty(m match) bool {
	if m.pretty {
		return true
	}
	if r.Pretty != "" {
		on, _ := strconv.ParseBool(r.Pretty)
		return on
	}
	for _, prefix := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent, prefix) {
			return true
		}
	}
	return false
}
