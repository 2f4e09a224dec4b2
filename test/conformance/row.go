package conformance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// Row is one request of the table.
type Row struct {
	Name   string            `json:"name"`
	User   string            `json:"user"`   // default: admin; "anonymous" has no credentials
	Method string            `json:"method"` // default: GET
	Path   string            `json:"path"`   // with its query; {rv} and others are replaced
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
	HTTP1  bool              `json:"http1"`
	// Source is where Sluice must have the answer from: cache, upstream, or
	// gateway if it refuses by itself; either for reads that may be delegated.
	Source string `json:"source"`
	// Status is checked at both servers, against tables that test nothing.
	Status int `json:"status"`
	// Loose compares only status and headers: the body differs by nature.
	Loose bool `json:"loose"`
}

// Load reads all rows of testdata.
func Load() ([]Row, error) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var some []Row
		if err := yaml.UnmarshalStrict(raw, &some); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, r := range some {
			r.Name = strings.TrimSuffix(filepath.Base(file), ".yaml") + "/" + r.Name
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// request returns what is to be sent, with the variables replaced.
func (r Row) request(vars *strings.Replacer) harness.Request {
	h := http.Header{"User-Agent": {"conformance"}}
	for name, value := range r.Header {
		h.Set(name, vars.Replace(value))
	}
	return harness.Request{
		Method: r.Method, Path: vars.Replace(r.Path), Header: h, Body: []byte(vars.Replace(r.Body)), HTTP1: r.HTTP1,
	}
}

// user returns the name by which the harness knows the row's user.
func (r Row) user() string {
	switch r.User {
	case "":
		return "admin"
	case "anonymous":
		return harness.Anonymous
	}
	return r.User
}
