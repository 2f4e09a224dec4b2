package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Checks are named health checks, answered in the form of the apiserver's
// health endpoints: "ok", or with ?verbose and on failure a line for each;
// ?exclude=NAME leaves one out, and a sub-path asks for one alone.
type Checks struct {
	mu     sync.RWMutex
	checks []check // guarded by mu
}

type check struct {
	name string
	run  func() error
}

// Add registers a check, which must be quick: it returns why it fails.
func (c *Checks) Add(name string, run func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks = append(c.checks, check{name, run})
}

func (c *Checks) all() []check {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.checks)
}

// handler answers under path, such as "/readyz". The verbose form of a success
// has the notes too.
func (c *Checks) handler(path string, notes func() []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")
		report, failed, found := c.report(name, r.URL.Query()["exclude"])
		switch {
		case !found:
			http.NotFound(w, r)
		case failed:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "%s%s check failed\n", report, path[1:])
		case r.URL.Query().Has("verbose"):
			if notes != nil && name == "" {
				report += strings.Join(append(notes(), ""), "\n")
			}
			fmt.Fprintf(w, "%s%s check passed\n", report, path[1:])
		default:
			fmt.Fprint(w, "ok")
		}
	})
}

// report runs the checks, or only the one with the given name.
func (c *Checks) report(only string, exclude []string) (report string, failed, found bool) {
	var b strings.Builder
	found = only == ""
	for _, check := range c.all() {
		if only != "" && check.name != only {
			continue
		}
		found = true
		if slices.Contains(exclude, check.name) {
			fmt.Fprintf(&b, "[+]%s excluded: ok\n", check.name)
		} else if err := check.run(); err != nil {
			failed = true
			fmt.Fprintf(&b, "[-]%s failed: %v\n", check.name, err)
		} else {
			fmt.Fprintf(&b, "[+]%s ok\n", check.name)
		}
	}
	return b.String(), failed, found
}
