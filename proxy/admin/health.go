package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Checks is a list of named health checks, served in the format of the apiserver's health endpoints:
// the body is "ok", or one line per check with ?verbose and on failure. ?exclude=NAME skips a check,
// and the sub-path NAME runs only that one. It can be used concurrently.
type Checks struct {
	mu     sync.RWMutex
	checks []check // guarded by mu
}

type check struct {
	name string
	run  func() error
}

// Add appends a check. run must not block; it returns why the check fails, or nil.
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

// handler serves the checks at path, such as "/readyz", and below it.
func (c *Checks) handler(path string, notes func() []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")
		report, failed, found := c.report(name, r.URL.Query()["exclude"])
		verbose := r.URL.Query().Has("verbose")
		if verbose && notes != nil && name == "" {
			report += strings.Join(append(notes(), ""), "\n")
		}
		switch {
		case !found:
			http.NotFound(w, r)
		case failed:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "%s%s check failed\n", report, path[1:])
		case verbose:
			fmt.Fprintf(w, "%s%s check passed\n", report, path[1:])
		default:
			fmt.Fprint(w, "ok")
		}
	})
}

// report runs all checks, or the one named only. found is false if no check has that name.
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
