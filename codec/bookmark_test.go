package codec

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/test/support/codectest"
)

// TestBookmarksAreAsRecorded writes a bookmark of every kind of a real apiserver, from Protobuf and, with the
// recorded one as template, from JSON.
func TestBookmarksAreAsRecorded(t *testing.T) {
	kinds := 0
	for _, x := range codectest.Read(t, "bookmarks.jsonl") {
		for line := range strings.Lines(x.Body) {
			var event struct {
				Type   string
				Object struct {
					metav1.TypeMeta
					Metadata metav1.ObjectMeta
				}
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Fatal(err)
			}
			if event.Type != string(watch.Bookmark) {
				continue
			}
			o := event.Object
			r := Resource{Version: o.APIVersion, Kind: o.Kind, Style: Typed, Source: Protobuf}
			if g, v, ok := strings.Cut(o.APIVersion, "/"); ok {
				r.Group, r.Version = g, v
			}
			if strings.Contains(line, `"object":{"apiVersion"`) {
				r.Style, r.Source = Unstructured, JSON
			}
			t.Run(o.APIVersion+" "+o.Kind, func(t *testing.T) {
				_, end := o.Metadata.Annotations[metav1.InitialEventsAnnotationKey]
				checkBookmark(t, &r, o.Metadata.ResourceVersion, end, line)
				if r.Style == Typed {
					r.Source = JSON
					template, _, _ := strings.Cut(line, "}}\n")
					_, template, _ = strings.Cut(template, `"object":`)
					r.Bookmark = []byte(template + "}")
					checkBookmark(t, &r, o.Metadata.ResourceVersion, end, line)
				}
			})
			kinds++
		}
	}
	if kinds < 60 {
		t.Errorf("only %d kinds", kinds)
	}
}

func checkBookmark(t *testing.T, r *Resource, rv string, end bool, want string) {
	t.Helper()
	w, err := NewWriter(r, Format{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.AppendBookmark(nil, rv, end, true)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, []byte(want))
}
