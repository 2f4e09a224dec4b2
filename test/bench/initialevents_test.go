package main

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadInitialEventsEndsAtTheirBookmark(t *testing.T) {
	const object, bookmark = "{\"type\":\"ADDED\"}\n", "{\"type\":\"BOOKMARK\",\"k8s.io/initial-events-end\":\"true\"}\n"
	for _, tc := range []struct {
		name, text, want string
	}{
		{"whole", object + object + bookmark, ""},
		{"object lost", object + bookmark, "after 2 events of 2"},
		{"bookmark beside", object + strings.Replace(bookmark, "initial", "", 1) + object + bookmark, ""},
		{"objects too many", strings.Repeat(object, 2+otherBookmarks+2) + bookmark, "instead of 2 and a bookmark"},
		{"no bookmark", object + object, "after 2 events of 2"},
		{"half a bookmark", object + object + bookmark[:50], "after 2 events of 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, in := range map[string]func(*strings.Reader) error{
				"in one piece": func(r *strings.Reader) error { return readInitialEvents(framesOf(r, splitLines), 2, 0) },
				"in bytes": func(r *strings.Reader) error {
					return readInitialEvents(framesOf(iotest.OneByteReader(r), splitLines), 2, 0)
				},
			} {
				err := in(strings.NewReader(tc.text))
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s: %v, want %q", name, err, tc.want)
				}
			}
		})
	}
}
