package upstream

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// rotated is an apiserver that accepts one token, and a file with the token of Sluice.
type rotated struct {
	mu     sync.Mutex
	valid  string
	tokens []string // that it has received
	file   string
	*Upstream
}

func newRotated(t *testing.T, token string) *rotated {
	t.Helper()
	s := &rotated{valid: token, file: filepath.Join(t.TempDir(), "token")}
	a := newAPIServer(t, func(server *http.Server) { server.Handler = s })
	s.write(t, token)
	s.Upstream = a.connect(t, false, nil, func(c *rest.Config) { c.BearerToken, c.BearerTokenFile = "", s.file })
	return s
}

func (s *rotated) write(t *testing.T, token string) {
	t.Helper()
	if err := os.WriteFile(s.file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP implements http.Handler.
func (s *rotated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, token)
	if token != s.valid {
		w.Header().Set("Connection", "close") // as the apiserver
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprintf(w, "%s %s", token, body)
}

// received returns the tokens since it was called the last time.
func (s *rotated) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens := s.tokens
	s.tokens = nil
	return tokens
}

// accept makes a token the one that is valid.
func (s *rotated) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = token
}

func (s *rotated) post(t *testing.T, rt http.RoundTripper, body io.Reader, header http.Header) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Address(), body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// The service account of Sluice is replaced, and its token with it.
func TestAfterARejectedTokenComesThatOfTheFile(t *testing.T) {
	for name, of := range map[string]func(*Upstream) http.RoundTripper{
		"self":               func(u *Upstream) http.RoundTripper { return u.Self },
		"on behalf":          func(u *Upstream) http.RoundTripper { return u.OnBehalf },
		"upgrades on behalf": func(u *Upstream) http.RoundTripper { return u.OnBehalfUpgrades },
	} {
		t.Run(name, func(t *testing.T) {
			s := newRotated(t, "old")
			send := func(body io.Reader, code int, text string, tokens ...string) {
				t.Helper()
				if gotCode, gotText := s.post(t, of(s.Upstream), body, nil); gotCode != code || gotText != text {
					t.Errorf("%d: %s", gotCode, gotText)
				}
				if got := s.received(); !slices.Equal(got, tokens) {
					t.Errorf("sent tokens %q, want %q", got, tokens)
				}
			}
			send(strings.NewReader("a"), 200, "old a", "old")
			s.accept("new")
			send(strings.NewReader("b"), 401, "", "old") // the file has no other
			s.write(t, "new")
			send(strings.NewReader("c"), 200, "new c", "new")
			s.accept("newest")
			s.write(t, "newest")
			send(strings.NewReader("d"), 401, "", "new")
			send(strings.NewReader("e"), 200, "newest e", "newest")
		})
	}
}

func TestARejectedTokenOfACallerIsNotReplaced(t *testing.T) {
	s := newRotated(t, "old")
	s.accept("new")
	s.write(t, "new")
	for _, rt := range []http.RoundTripper{s.Authenticated, s.Self} {
		if code, _ := s.post(t, rt, nil, http.Header{"Authorization": {"Bearer mine"}}); code != http.StatusUnauthorized {
			t.Errorf("code %d", code)
		}
		if got := s.received(); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("sent tokens %q", got)
		}
	}
}

func TestAnUnreadableTokenFileIsAnError(t *testing.T) {
	if _, err := New(Options{Config: &rest.Config{Host: "https://a", BearerTokenFile: filepath.Join(t.TempDir(), "none")}}); err == nil {
		t.Error("no error")
	}
}
