package consistency

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice/test/consistency/history"
)

// decodeList decodes a page and its continue token.
func decodeList(body []byte) (page history.Page, next string, err error) {
	var l metav1.List
	if err := json.Unmarshal(body, &l); err != nil {
		return page, "", fmt.Errorf("list: %w", err)
	}
	if !strings.HasSuffix(l.Kind, "List") {
		return page, "", fmt.Errorf("%q is not a list", l.Kind)
	}
	if page.Version, err = strconv.ParseUint(l.ResourceVersion, 10, 64); err != nil {
		return page, "", fmt.Errorf("resourceVersion of a list: %w", err)
	}
	for _, raw := range l.Items {
		o, err := object(raw.Raw)
		if err != nil {
			return page, "", err
		}
		page.Items = append(page.Items, o)
	}
	page.More, page.Remaining = l.Continue != "", l.RemainingItemCount
	return page, l.Continue, nil
}

// decoded memoizes objects by their bytes, because most are received many times.
var decoded sync.Map

// object is decodeObject with a memo.
func object(raw []byte) (*history.Object, error) {
	if o, ok := decoded.Load(string(raw)); ok {
		return o.(*history.Object), nil
	}
	o, err := decodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("object %.200s: %w", raw, err)
	}
	decoded.Store(string(raw), o)
	return o, nil
}

// decodeObject decodes an object. Its kind and apiVersion are not part of the content, because the
// items of some lists do not have them.
func decodeObject(raw []byte) (*history.Object, error) {
	var o unstructured.Unstructured
	if err := json.Unmarshal(raw, &o.Object); err != nil {
		return nil, err
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return nil, err
	}
	delete(o.Object, "kind")
	delete(o.Object, "apiVersion")
	o.SetResourceVersion("")
	content, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	color, _, _ := unstructured.NestedString(o.Object, "spec", "color")
	return &history.Object{
		Key: o.GetNamespace() + "/" + o.GetName(), UID: string(o.GetUID()), Version: version,
		Labels: o.GetLabels(), Fields: map[string]string{"spec.color": color}, Content: string(content),
	}, nil
}

// decodeEvent decodes an event; end reports whether it ends the initial events. An ERROR event is returned
// as an error.
func decodeEvent(e metav1.WatchEvent) (item history.Item, end bool, err error) {
	item.Type = history.Type(e.Type)
	switch item.Type {
	case history.Added, history.Modified, history.Deleted:
		if item.Object, err = object(e.Object.Raw); err == nil {
			item.Version = item.Object.Version
		}
	case history.Bookmark:
		var o metav1.PartialObjectMetadata
		if err = json.Unmarshal(e.Object.Raw, &o); err == nil {
			item.Version, err = strconv.ParseUint(o.ResourceVersion, 10, 64)
		}
		end = o.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	case "ERROR":
		err = newStatusError(0, e.Object.Raw)
	default:
		err = fmt.Errorf("event of type %q", e.Type)
	}
	return item, end, err
}

// newStatusError decodes the Status of a response with another code than 200, or of an ERROR event; a code of 0 means the code
// of the Status.
func newStatusError(code int, body []byte) error {
	e := &apierrors.StatusError{}
	if json.Unmarshal(body, &e.ErrStatus) != nil {
		e.ErrStatus.Message = fmt.Sprintf("%.100s", body)
	}
	if code != 0 {
		e.ErrStatus.Code = int32(code)
	}
	return e
}

// gone reports whether err is 410 Gone.
func gone(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }
