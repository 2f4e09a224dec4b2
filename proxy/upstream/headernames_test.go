package upstream

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestHeaderNamesAreThoseThatTheApiserverPublishes(t *testing.T) {
	published := func(data string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"ConfigMap","apiVersion":"v1","data":{"requestheader-allowed-names":"[]"`+data+`}}`)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	withoutUID := DefaultHeaderNames()
	withoutUID.UID = nil
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		want     *HeaderNames
		isFailed bool
	}{
		{"published", published(`,"requestheader-username-headers":"[\"X-My-User\",\"X-Remote-User\"]","requestheader-group-headers":"[\"x-my-group\"]",` +
			`"requestheader-extra-headers-prefix":"[\"X-My-Extra-\"]"`),
			&HeaderNames{User: []string{"X-My-User", "X-Remote-User"}, Group: []string{"x-my-group"}, ExtraPrefix: []string{"X-My-Extra-"}}, false},
		{"no front proxy", published(""), DefaultHeaderNames(), false},
		{"no ConfigMap", status(http.StatusNotFound), withoutUID, false},
		{"no right to read it", status(http.StatusForbidden), withoutUID, true},
		{"unreachable", status(http.StatusServiceUnavailable), nil, true},
		{"unreadable", published(`,"requestheader-username-headers":"X-My-User"`), nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPIServer(t)
			a.Config.Handler = tt.handler
			u := a.connect(t, false, nil)
			if u.HeaderNames() != nil {
				t.Error("names are known before they are read")
			}
			err := u.readHeaderNames(t.Context())
			if diff := cmp.Diff(tt.want, u.HeaderNames()); diff != "" || (err != nil) != tt.isFailed {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The apiserver believes every header that it knows from the certificate of a front proxy, and may know more than the defaults.
func TestAFrontProxyHasNoDefaultHeaderNames(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		a := newAPIServer(t)
		a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		u := a.connect(t, false, nil)
		u.FrontProxy = true
		if err := u.readHeaderNames(t.Context()); err == nil || u.HeaderNames() != nil {
			t.Errorf("%d: %v, %+v", code, err, u.HeaderNames())
		}
	}
}

// The apiserver reads the headers of a front proxy with its library.
func TestHeadersNameTheUserThatTheApiserverReads(t *testing.T) {
	odd := &HeaderNames{User: []string{" x-my-user", "X-Remote-User"}, UID: []string{"X-A", "x-b"}, Group: []string{"x-group", "X-Remote-Group"},
		ExtraPrefix: []string{"X-Remote-Extra-", "x-more-"}}
	headers := []http.Header{
		{},
		{"X-Remote-User": {"jane", "joe"}, "X-Remote-Uid": {"u"}, "X-Remote-Group": {"dev", "", "ops"}},
		{"X-Remote-User": {""}, "X-Remote-Group": {"dev"}},
		{"X-My-User": {"a"}, "X-Remote-User": {"b"}, "X-B": {"2"}, "X-Group": {"1"}, "X-Remote-Group": {"2"}},
		{"x-my-user": {"a"}, "X-Remote-User": {"b"}, "x-group": {"1"}},
		{"X-My-User": {""}, "X-Remote-User": {"b"}, "X-A": {"", "1"}, "X-B": {"2"}},
		{"X-Remote-User": {"b"}, "X-Remote-Extra-Scopes": {"a", "", "b"}, "X-Remote-Extra-": {"c"}, "X-Remote-Extra": {"d"}},
		{"X-Remote-User": {"b"}, "x-remote-extra-a%2FB": {"a"}, "X-Remote-Extra-%Zz": {"b"}, "X-More-A": {}, "X-More-C": {"d"}},
	}
	for _, names := range []*HeaderNames{DefaultHeaderNames(), odd, {User: []string{"X-Remote-User"}}} {
		library, err := headerrequest.New(names.User, names.UID, names.Group, names.ExtraPrefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			var want user.Info
			if resp, ok, err := library.AuthenticateRequest(&http.Request{Header: h.Clone()}); err == nil && ok {
				want = resp.User
			}
			var got user.Info
			if u := names.UserOf(h); u != nil {
				got = u
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v by %+v (-want +got):\n%s", h, names, diff)
			}
		}
	}
}

func TestConfiguredHeaderNamesAreNotRead(t *testing.T) {
	names := &HeaderNames{User: []string{"X-My-User"}}
	a := newAPIServer(t)
	u, err := New(Options{Config: a.connect(t, false, nil).config, HeaderNames: names, Accepted: HeaderNames{UID: []string{"X-Their-Uid"}, ExtraPrefix: []string{""}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.FollowHeaderNames(t.Context(), zap.NewNop()); err != nil || a.last != (received{}) {
		t.Errorf("%v after a request %+v", err, a.last)
	}
	for name, want := range map[string]bool{
		"x-my-USER": true, "x-remote-anything": true, "X-THEIR-UID": true, "X-My-Users": false, "Impersonate-User": false, "Accept": false,
	} {
		if got := u.IsUserHeader(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
