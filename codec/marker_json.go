package codec

import "sluice/codec/json"

// customMarker makes bookmarks of custom resources: kind, apiVersion and metadata, sorted.
func customMarker(apiVersion, kind string) marker {
	head := json.AppendString([]byte(`{"apiVersion":`), apiVersion)
	head = append(head, `,"kind":`...)
	head = json.AppendString(head, kind)
	head = append(head, `,"metadata":{`...)
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		dst = append(dst, head...)
		if initialEnd {
			dst = append(dst, `"annotations":{"k8s.io/initial-events-end":"true"},`...)
		}
		dst = append(dst, `"resourceVersion":`...)
		return append(json.AppendString(dst, rv), "}}"...), nil
	}
}

// templateMarker makes bookmarks of one that the upstream sent: the same with another version, and with or without the
// annotation that ends the initial events.
func templateMarker(template []byte) (marker, error) {
	head, rest, ok := cutMetadata(template)
	if !ok {
		return nil, ErrTemplate
	}
	var own []annotation
	for key, v := range json.Value(template).Get("metadata", "annotations").Members {
		if string(key) != initialEventsEnd {
			text, _ := v.Text()
			own = append(own, annotation{string(key), text})
		}
	}
	plain, ending := appendAnnotations(nil, annotations(own, false)), appendAnnotations(nil, annotations(own, true))
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		dst = append(dst, head...)
		dst = append(dst, `{"resourceVersion":`...)
		dst = json.AppendString(dst, rv)
		if initialEnd {
			dst = append(dst, ending...)
		} else {
			dst = append(dst, plain...)
		}
		return append(append(dst, '}'), rest...), nil
	}, nil
}

// appendAnnotations appends a typed object's annotations as a member that is not the first, or nothing.
func appendAnnotations(dst []byte, annotations []annotation) []byte {
	if len(annotations) == 0 {
		return dst
	}
	dst = append(dst, `,"annotations":`...)
	open := len(dst)
	for _, a := range annotations {
		dst = json.AppendString(append(dst, ','), a.key)
		dst = json.AppendString(append(dst, ':'), a.value)
	}
	dst[open] = '{'
	return append(dst, '}')
}

// cutMetadata splits an object around the value of its metadata.
func cutMetadata(obj []byte) (head, rest []byte, ok bool) {
	part := &head
	for key, v := range json.Value(obj).Members {
		*part = append(*part, ',')
		*part = append(json.AppendString(*part, key), ':')
		if string(key) == "metadata" && !ok {
			ok, part = true, &rest
			continue
		}
		*part = append(*part, v...)
	}
	if ok {
		head[0] = '{'
	}
	return head, append(rest, '}'), ok
}
