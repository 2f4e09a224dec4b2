package request

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestParseListOptionsFollowsTheApiserver(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		query string
		want  ListOptions
		bad   bool
	}{
		{query: ""},
		{query: "unknown=1&export=true"},
		{query: "shardSelector=x&shardSelector=y", want: ListOptions{ShardSelector: "x"}},
		{
			query: "resourceVersion=7&resourceVersionMatch=Exact&continue=abc&labelSelector=a%3Db&fieldSelector=c%3Dd&includeObject=None&pretty=1",
			want: ListOptions{
				ResourceVersion: "7", ResourceVersionMatch: "Exact", Continue: "abc", LabelSelector: "a=b", FieldSelector: "c=d",
				IncludeObject: "None", Pretty: "1",
			},
		},
		// Of repeated parameters the first counts.
		{query: "limit=1&limit=2&resourceVersion=1&resourceVersion=2", want: ListOptions{Limit: 1, ResourceVersion: "1"}},
		{query: "limit=1&limit=x", want: ListOptions{Limit: 1}},
		// Malformed pairs are dropped.
		{query: "limit=1;watch=1"},
		{query: "labelSelector=%zz&limit=2", want: ListOptions{Limit: 2}},
		// Booleans are true unless they are 0 or false.
		{query: "allowWatchBookmarks", want: ListOptions{AllowBookmarks: true}},
		{query: "allowWatchBookmarks=", want: ListOptions{AllowBookmarks: true}},
		{query: "allowWatchBookmarks=no", want: ListOptions{AllowBookmarks: true}},
		{query: "allowWatchBookmarks=f", want: ListOptions{AllowBookmarks: true}},
		{query: "allowWatchBookmarks=00", want: ListOptions{AllowBookmarks: true}},
		{query: "allowWatchBookmarks=0"},
		{query: "allowWatchBookmarks=False"},
		{query: "allowWatchBookmarks=false&allowWatchBookmarks=true"},
		{query: "sendInitialEvents", want: ListOptions{SendInitialEvents: &yes}},
		{query: "sendInitialEvents=1", want: ListOptions{SendInitialEvents: &yes}},
		{query: "sendInitialEvents=false", want: ListOptions{SendInitialEvents: &no}},
		{query: "sendInitialEvents=0", want: ListOptions{SendInitialEvents: &no}},
		// Integers.
		{query: "limit=500", want: ListOptions{Limit: 500}},
		{query: "limit=-1", want: ListOptions{Limit: -1}},
		{query: "limit=%2B5", want: ListOptions{Limit: 5}},
		{query: "limit=abc", bad: true},
		{query: "limit=", bad: true},
		{query: "limit=1.5", bad: true},
		{query: "limit=0x10", bad: true},
		{query: "limit=9223372036854775808", bad: true},
		{query: "timeoutSeconds=30", want: ListOptions{Timeout: 30 * time.Second}},
		{query: "timeoutSeconds=-1", want: ListOptions{Timeout: -time.Second}},
		{query: "timeoutSeconds=x", bad: true},
		{query: "timeoutSeconds=9223372036", want: ListOptions{Timeout: 9223372036 * time.Second}},
		{query: "timeoutSeconds=9223372037", bad: true},
		{query: "timeoutSeconds=36028797018963969", bad: true}, // wraps to a whole second
		{query: "timeoutSeconds=-9223372037", bad: true},
		// The deadline of the request.
		{query: "timeout=30s"},
		{query: "timeout=24h"},
		{query: "timeout=0s"},
		{query: "timeout=-1ns"},
		{query: "timeout="},
		{query: "timeout=1ns", bad: true},
		{query: "timeout=999ms", bad: true},
		{query: "timeout=30", bad: true},
		{query: "timeout=abc", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			q, _ := url.ParseQuery(tt.query)
			got, err := ParseListOptions(q)
			if tt.bad {
				if !errors.Is(err, ErrInvalidOptions) {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// FuzzParseListOptions compares with the apiserver's decoder. Options that the decoder rejects must be
// rejected; options that only Sluice rejects are forwarded.
func FuzzParseListOptions(f *testing.F) {
	for _, seed := range []string{
		"", "limit=1&limit=2", "watch&allowWatchBookmarks=F&sendInitialEvents=0&resourceVersionMatch=NotOlderThan",
		"timeoutSeconds=1e3", "limit=%2B1&timeoutSeconds=+1", "limit=&a;b", "resourceVersion=01&continue=%zz", "limit=0_1",
		"timeoutSeconds=-9223372036854775808", "sendInitialEvents=&allowWatchBookmarks=%00", "labelSelector=a&fieldSelector=b=c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, _ := url.ParseQuery(raw)
		got, err := ParseListOptions(q)
		if err != nil {
			return
		}
		q.Del("labelSelector") // read later
		q.Del("fieldSelector")
		var want internalversion.ListOptions
		if err := scheme.ParameterCodec.DecodeParameters(q, metav1.SchemeGroupVersion, &want); err != nil {
			t.Fatalf("%q: the apiserver rejects it: %v", raw, err)
		}
		seconds := time.Duration(0)
		if want.TimeoutSeconds != nil {
			seconds = time.Duration(*want.TimeoutSeconds)
		}
		if got.Limit != want.Limit || got.Timeout != seconds*time.Second || got.Timeout/time.Second != seconds ||
			got.ResourceVersion != want.ResourceVersion || got.ResourceVersionMatch != string(want.ResourceVersionMatch) ||
			got.Continue != want.Continue || got.ShardSelector != want.ShardSelector || got.AllowBookmarks != want.AllowWatchBookmarks ||
			!cmp.Equal(got.SendInitialEvents, want.SendInitialEvents) {
			t.Errorf("%q is %+v, want %+v", raw, got, want)
		}
	})
}
