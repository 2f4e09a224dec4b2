package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"sluice/test/consistency/history"
)

// list is a list of any resource.
type list struct {
	Kind     string
	Metadata struct {
		ResourceVersion    string
		Continue           string
		RemainingItemCount *int64
	}
	Items []json.RawMessage
}

// decodeList decodes a page and its continue token.
func decodeList(body []byte) (page history.Page, next string, err error) {
	var l list
	if err := json.Unmarshal(body, &l); err != nil {
		return page, "", fmt.Errorf("list: %w", err)
	}
	if !strings.HasSuffix(l.Kind, "List") {
		return page, "", fmt.Errorf("%q is not a list", l.Kind)
	}
	if page.Version, err = strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64); err != nil {
		return page, "", fmt.Errorf("resourceVersion of a list: %w", err)
	}
	for _, raw := range l.Items {
		o, err := decoded.object(raw)
		if err != nil {
			return page, "", err
		}
		page.Items = append(page.Items, o)
	}
	page.More, page.Remaining = l.Metadata.Continue != "", l.Metadata.RemainingItemCount
	return page, l.Metadata.Continue, nil
}

// decoded memoizes objects by their bytes, because most are received many times.
var decoded = memo{objects: map[string]*history.Object{}}

type memo struct {
	mu      sync.Mutex // guards objects
	objects map[string]*history.Object
}

// maxMemoized bounds a memo, in objects.
const maxMemoized = 20_000

func (m *memo) object(raw []byte) (*history.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.objects[string(raw)]; o != nil {
		return o, nil
	}
	o, err := decodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("object %.200s: %w", raw, err)
	}
	if len(m.objects) >= maxMemoized {
		clear(m.objects)
	}
	m.objects[string(raw)] = o
	return o, nil
}

// decodeObject decodes an object. Its kind and apiVersion are not part of the content, because the
// items of some lists do not have them.
func decodeObject(raw []byte) (*history.Object, error) {
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	delete(o, "kind")
	delete(o, "apiVersion")
	meta, _ := o["metadata"].(map[string]any)
	version, err := strconv.ParseUint(text(meta["resourceVersion"]), 10, 64)
	if err != nil {
		return nil, err
	}
	delete(meta, "resourceVersion")
	content, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	object := &history.Object{
		Key: text(meta["namespace"]) + "/" + text(meta["name"]), UID: text(meta["uid"]),
		Version: version, Labels: map[string]string{}, Content: string(content),
	}
	labels, _ := meta["labels"].(map[string]any)
	for k, v := range labels {
		object.Labels[k] = text(v)
	}
	spec, _ := o["spec"].(map[string]any)
	object.Fields = map[string]string{"spec.color": text(spec["color"])}
	return object, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// event is one frame of a watch.
type event struct {
	Type   history.Type
	Object json.RawMessage
}

// initialEventsEnd is the annotation of the bookmark that ends the initial events.
const initialEventsEnd = "k8s.io/initial-events-end"

// item decodes an event; end reports whether it ends the initial events. An ERROR event is returned
// as an error.
func (e *event) item() (item history.Item, end bool, err error) {
	item.Type = e.Type
	switch e.Type {
	case history.Added, history.Modified, history.Deleted:
		if item.Object, err = decoded.object(e.Object); err == nil {
			item.Version = item.Object.Version
		}
	case history.Bookmark:
		var o struct {
			Metadata struct {
				ResourceVersion string
				Annotations     map[string]string
			}
		}
		if err = json.Unmarshal(e.Object, &o); err == nil {
			item.Version, err = strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
		}
		end = o.Metadata.Annotations[initialEventsEnd] == "true"
	case "ERROR":
		err = newStatusError(0, e.Object)
	default:
		err = fmt.Errorf("event of type %q", e.Type)
	}
	return item, end, err
}

// statusError is a response with another code than 200, or an ERROR event.
type statusError struct {
	Code    int
	Reason  string
	Message string
	Details struct{ Name, Kind string }
}

// newStatusError decodes a Status; a code of 0 means the code of the Status.
func newStatusError(code int, body []byte) error {
	r := &statusError{}
	if json.Unmarshal(body, r) != nil {
		r.Message = fmt.Sprintf("%.100s", body)
	}
	if code != 0 {
		r.Code = code
	}
	return r
}

func (r *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.Code, r.Reason))
}

// hasReason reports whether err is a Status with this reason.
func hasReason(err error, reason string) bool {
	var r *statusError
	return errors.As(err, &r) && r.Reason == reason
}
