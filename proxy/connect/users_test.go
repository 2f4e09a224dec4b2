package connect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"sluice/proxy/accounts"
)

// withUsers makes the proxy authenticate alice.
func withUsers(t *testing.T) (path string, change func(*Options)) {
	path = filepath.Join(t.TempDir(), "users")
	writeUsers(t, path, "alice", "secret")
	var err error
	return path, func(o *Options) { // in the bubble of the test
		if o.Users, err = NewUsers(path, zap.NewNop()); err != nil {
			t.Fatal(err)
		}
	}
}

func writeUsers(t *testing.T, path, name, password string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	line := "# users\n\n" + name + ":" + strings.Replace(string(hash), "$2a$", "$2y$", 1) + "\n" // as htpasswd writes them
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
}

func basic(credentials string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestUsersMustAuthenticate(t *testing.T) {
	_, change := withUsers(t)
	run(t, change, func(e *env) {
		for header, want := range map[string]int{
			basic("alice:secret"): http.StatusOK, basic("alice:wrong"): http.StatusProxyAuthRequired,
			basic("bob:secret"): http.StatusProxyAuthRequired, basic("alice"): http.StatusProxyAuthRequired, basic("alice:"): http.StatusProxyAuthRequired,
			"Proxy-Authorization: Bearer x": http.StatusProxyAuthRequired, "X: y": http.StatusProxyAuthRequired,
			strings.TrimPrefix(basic("alice:secret"), "Proxy-"): http.StatusProxyAuthRequired, // credentials for the API
		} {
			for range 2 { // the second time from memory
				_, resp := e.connect("kubernetes.default.svc:443", header)
				if resp.StatusCode != want {
					e.Errorf("%s: %s, want %d", header, resp.Status, want)
				}
				if want == http.StatusProxyAuthRequired && !strings.HasPrefix(resp.Header.Get("Proxy-Authenticate"), "Basic ") {
					e.Errorf("%s: Proxy-Authenticate: %q", header, resp.Header.Get("Proxy-Authenticate"))
				}
			}
		}
		// Who has no password learns nothing about destinations.
		for _, request := range []string{"CONNECT example.com:443", "GET http://example.com/", "GET /"} {
			resp := e.dial().send(request + " HTTP/1.1\r\nHost: x\r\n\r\n")
			body, _ := io.ReadAll(resp.Body)
			if told := resp.Status + string(body); strings.Contains(told, "kubernetes.default") || resp.StatusCode < http.StatusBadRequest {
				e.Errorf("%s: %s", request, told)
			}
		}
	})
}

func TestChangedUsersCountAtOnce(t *testing.T) {
	path, change := withUsers(t)
	run(t, change, func(e *env) {
		status := func(credentials string) int {
			_, resp := e.connect("kubernetes.default.svc:443", basic(credentials))
			return resp.StatusCode
		}
		if got := status("alice:secret"); got != http.StatusOK {
			e.Fatal(got)
		}
		writeUsers(t, path, "alice", "changed")
		if err := e.proxy.options.Users.load(); err != nil {
			e.Fatal(err)
		}
		if was, is := status("alice:secret"), status("alice:changed"); was != http.StatusProxyAuthRequired || is != http.StatusOK {
			e.Errorf("old password: %d, new: %d", was, is)
		}
		if err := os.WriteFile(path, []byte("alice:plain"), 0o600); err != nil {
			e.Fatal(err)
		}
		if err := e.proxy.options.Users.load(); err == nil || strings.Contains(err.Error(), "plain") {
			e.Errorf("a file without hashes: %v", err)
		}
		if got := status("alice:changed"); got != http.StatusOK {
			e.Errorf("after an unusable file: %d", got)
		}
	})
}

func TestUnknownPasswordsWaitForOneTurn(t *testing.T) {
	_, change := withUsers(t)
	run(t, change, func(e *env) {
		leave, _ := e.proxy.options.Users.turns.Enter(t.Context(), accounts.ByAddress("")) // a password is being verified
		if _, resp := e.connect("kubernetes.default.svc:443", basic("alice:secret")); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			e.Error(resp.Status)
		}
		e.decided(decisionBusy, 1)
		leave()
	})
}

func TestAReloadForgetsOnlyPasswordsWhoseHashHasChanged(t *testing.T) {
	path, change := withUsers(t)
	run(t, change, func(e *env) {
		u := e.proxy.options.Users
		if _, resp := e.connect("kubernetes.default.svc:443", basic("alice:secret")); resp.StatusCode != http.StatusOK {
			e.Fatal(resp.Status)
		}
		hashes, err := os.ReadFile(path)
		if err != nil {
			e.Fatal(err)
		}
		writeUsers(t, path, "bob", "new")
		others, err := os.ReadFile(path)
		if err != nil {
			e.Fatal(err)
		}
		for _, tt := range []struct {
			content string
			known   bool
		}{{string(hashes) + string(others), true}, {string(others), false}, {string(hashes), false}} {
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				e.Fatal(err)
			}
			if err := u.load(); err != nil {
				e.Fatal(err)
			}
			if known := u.known("alice", "secret"); known != tt.known {
				e.Errorf("known after a reload: %v, want %v; the file:\n%s", known, tt.known, tt.content)
			}
		}
	})
}

func TestGuessesFromOneAddressDelayOthersByOne(t *testing.T) {
	_, change := withUsers(t)
	run(t, change, func(e *env) {
		u := e.proxy.options.Users
		leave, _ := u.turns.Enter(t.Context(), accounts.ByAddress("")) // a password is being verified
		var mu sync.Mutex
		var verified []string
		var all sync.WaitGroup
		verify := func(address, credentials string, want error) {
			all.Go(func() {
				r := &http.Request{RemoteAddr: address + ":1000", Header: http.Header{}}
				r.SetBasicAuth("alice", credentials)
				r.Header["Proxy-Authorization"] = r.Header["Authorization"]
				if err := u.verify(r); !errors.Is(err, want) {
					e.Errorf("from %s: %v", address, err)
				}
				mu.Lock()
				defer mu.Unlock()
				verified = append(verified, address)
			})
			synctest.Wait()
		}
		for i := range 10 {
			verify("192.0.2.1", fmt.Sprint("guess ", i), errUnknownUser)
		}
		verify("192.0.2.2", "secret", nil)
		leave()
		all.Wait()
		if before := slices.Index(verified, "192.0.2.2"); before > 2 { // and the next one, which may end at the same time
			e.Errorf("%d guesses were verified before", before)
		}
	})
}

func TestInvalidUsersAreErrors(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no hash", "alice\n", "line 1"},
		{"MD5", "# first\nalice:$apr1$x$y\n", "line 2"},
		{"no name", ":" + string(hash), "line 1"},
		{"twice", "alice:" + string(hash) + "\nalice:" + string(hash), "line 2"},
		{"too costly", "alice:" + strings.Replace(string(hash), "$04$", "$31$", 1), "cost"},
	} {
		if _, _, err := parseUsers([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), string(hash)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := NewUsers("/none", zap.NewNop()); err == nil {
		t.Error("no error about a missing file")
	}
}
