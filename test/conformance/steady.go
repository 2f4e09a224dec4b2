package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"sluice/codec/proto"
)

// steady replaces what two servers may rightly tell differently: the versions
// of lists and bookmarks, which rise with writes anywhere in the cluster
// (unless exact), when bookmarks come that end no state, and the times, ages
// and names of the moment.
func steady(body []byte, h http.Header, exact bool) []byte {
	switch contentType := h.Get("Content-Type"); {
	case isFrames(h):
		return steadyFrames(body)
	case isCBOR(h):
		text, err := steadyCBOR(body, exact)
		if err != nil {
			return fmt.Appendf(nil, "%v: %x", err, body)
		}
		return text
	case strings.Contains(contentType, "protobuf"):
		return steadyProto(body, exact)
	case bytes.HasPrefix(body, []byte(`{"type":"`)):
		body = bookmark.ReplaceAllFunc(body, steadyBookmark)
	case strings.Contains(contentType, "yaml"):
		body = yamlMeta.ReplaceAllFunc(body, func(meta []byte) []byte { return steadyMeta(meta, exact) })
	default:
		body = listMeta.ReplaceAllFunc(body, func(meta []byte) []byte { return steadyMeta(meta, exact) })
	}
	return steadyMoment(body)
}

func steadyMoment(text []byte) []byte {
	for _, r := range moments {
		if bytes.Contains(text, []byte(r.where)) {
			text = r.pattern.ReplaceAll(text, []byte(r.with))
		}
	}
	return text
}

var (
	// listMeta is the metadata of a list or Table in JSON, with what stands
	// before it.
	listMeta = regexp.MustCompile(`"kind":\s*"(\w*List|Table)",(\s*"apiVersion":\s*"[^"]+",)?\s*"metadata":\s*\{(?:[^{}]|\{[^{}]*\})*\}`)
	// yamlMeta is the same in YAML, where it is not far from the list's end.
	yamlMeta   = regexp.MustCompile(`(?m)^kind: (\w*List|Table)\nmetadata:\n(  \w+:( \S+)?\n|    selector: .*\n)+`)
	version    = regexp.MustCompile(`(["']?resourceVersion["']?:\s*)["']\d+["']`)
	continues  = regexp.MustCompile(`(["']?continue["']?:\s*["']?)([\w-]+)`)
	tokenRV    = regexp.MustCompile(`"rv":\d+`)
	bookmark   = regexp.MustCompile(`(?m)^\{"type":"BOOKMARK".*\n`)
	endOfState = []byte("k8s.io/initial-events-end")
)

// steadyMeta replaces the version of a list, also in its continue token.
func steadyMeta(meta []byte, exact bool) []byte {
	if exact {
		return meta
	}
	meta = version.ReplaceAll(meta, []byte(`$1"N"`))
	return continues.ReplaceAllFunc(meta, func(m []byte) []byte {
		parts := continues.FindSubmatch(m)
		return append(bytes.Clone(parts[1]), steadyToken(parts[2])...)
	})
}

func steadyToken(token []byte) []byte {
	plain, err := base64.RawURLEncoding.AppendDecode(nil, token)
	if err != nil {
		return token
	}
	return tokenRV.ReplaceAll(plain, []byte(`"rv":N`))
}

// steadyBookmark drops a bookmark unless it ends the state: others come by the
// clock, and none is owed.
func steadyBookmark(event []byte) []byte {
	if !bytes.Contains(event, endOfState) {
		return nil
	}
	return version.ReplaceAll(event, []byte(`$1"N"`))
}

// current stands before the version at which a server is.
var current = regexp.MustCompile(`(current: )\d+`)

// moments are searched for only where there is some text: long bodies take long.
var moments = []struct {
	where   string
	pattern *regexp.Regexp
	with    string
}{
	{"current: ", current, `${1}N`},
	{"too old", regexp.MustCompile(`(too old resource version: \d+ \()\d+`), `${1}N`},
	{`"Table"`, regexp.MustCompile(`([",\[ ]")(?:\d+[ydhms])+"`), `${1}AGE"`}, // a cell of a Table
	{"kind: Table", regexp.MustCompile(`(?m)^(\s*- )(?:\d+[ydhms])+$`), `${1}AGE`},
}

// fresh are the marks of objects that were made just for the answer.
var fresh = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(uid|creationTimestamp|time)":"[^"]*"`), `"$1":"T"`},
	{regexp.MustCompile(`"resourceVersion":"\d+","creationTimestamp":"T"`), `"resourceVersion":"N","creationTimestamp":"T"`},
}

// steadyNew replaces the marks of the moment in the answer to a write.
func steadyNew(body string) string {
	for _, r := range fresh {
		body = r.pattern.ReplaceAllString(body, r.with)
	}
	return body
}

// steadyProto replaces the version of a Protobuf list.
func steadyProto(body []byte, exact bool) []byte {
	u, err := proto.ParseEnvelope(body)
	if err != nil || exact {
		return body
	}
	switch {
	case string(u.APIVersion) == "meta.k8s.io/v1beta1":
		return steadyBeta(body, u)
	case string(u.Kind) == "Status":
		return current.ReplaceAll(body, []byte(`${1}N`))
	case !bytes.HasSuffix(u.Kind, []byte("List")):
		return body
	}
	meta, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return body
	}
	var remaining *int64
	if meta.HasRemaining {
		remaining = &meta.Remaining
	}
	var raw []byte
	for item, err := range proto.Items(u.Raw) {
		if err != nil {
			return body
		}
		raw = proto.AppendItem(raw, item)
	}
	head := proto.AppendListMeta(nil, "N", string(steadyToken(meta.Continue)), remaining, string(meta.ShardSelector))
	return proto.AppendEnvelope(nil, string(u.APIVersion), string(u.Kind), append(head, raw...))
}

// steadyBeta does the same for the one list that has its metadata last.
func steadyBeta(body []byte, u proto.Unknown) []byte {
	var list metav1beta1.PartialObjectMetadataList
	if string(u.Kind) != "PartialObjectMetadataList" || list.Unmarshal(u.Raw) != nil {
		return body
	}
	list.ResourceVersion, list.Continue = "N", string(steadyToken([]byte(list.Continue)))
	raw, err := list.Marshal()
	if err != nil {
		return body
	}
	return proto.AppendEnvelope(nil, string(u.APIVersion), string(u.Kind), raw)
}

// steadyFrames does for a Protobuf watch what steadyBookmark does for JSON.
func steadyFrames(body []byte) []byte {
	var out []byte
	for len(body) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(body))
		if size > len(body) {
			break
		}
		frame := body[:size]
		body = body[size:]
		if typ, object, err := proto.ParseEvent(frame[4:]); err == nil && string(typ) == "BOOKMARK" {
			frame = nil
			if u, err := proto.ParseEnvelope(object); err == nil && bytes.Contains(object, endOfState) {
				frame, _ = proto.AppendWithResourceVersion([]byte("BOOKMARK "), u.Raw, "N")
			}
		}
		out = append(out, frame...)
	}
	return append(out, body...)
}
