package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// Row is one request of the table, or with For one for each combination of
// values.
type Row struct {
	Name   string            `json:"name"`
	For    map[string]Values `json:"for"`    // {word} in any text of the row stands for one value after the other
	User   string            `json:"user"`   // default: admin; "anonymous" has no credentials
	Method string            `json:"method"` // default: GET
	Path   string            `json:"path"`   // with its query; {now} and others are replaced
	Accept string            `json:"accept"` // short for that header
	// Instead is what the apiserver is asked to accept where it refuses what
	// Sluice has: its answer to that is the one to give.
	Instead string           `json:"instead"`
	Header  map[string]Lines `json:"header"`
	Body    string           `json:"body"`
	HTTP1   bool             `json:"http1"`
	// After is the path of a list that is read before, once at each server:
	// its continue token is {continue}, and goes to both servers.
	After string `json:"after"`
	// Until ends a watch behind the first event that holds this text.
	Until string `json:"until"`
	// Source is where Sluice must have the answer from: cache, upstream, or
	// gateway if it refuses by itself; either for reads that may be delegated.
	Source string `json:"source"`
	// Status is checked at both servers, against tables that test nothing; so
	// is that the apiserver's body holds all texts of Shows.
	Status int      `json:"status"`
	Shows  []string `json:"shows"`
	// Coding is how Sluice must compress the answer; the apiserver does not.
	Coding string `json:"coding"`
	// Loose compares only status and headers: the body differs by nature.
	Loose bool `json:"loose"`
	// Exact compares the versions of lists too.
	Exact bool `json:"exact"`
	// Known says why the answers differ. They must: a difference that is gone
	// must be taken off the table.
	Known string `json:"known"`
}

// Lines are the lines of one header; a single one may be written as a string.
type Lines []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Lines) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*l = Lines{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(l))
}

// Values are what a word stands for, by the names under which they appear in
// the names of rows. A list names them by themselves.
type Values map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(raw []byte) error {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return json.Unmarshal(raw, (*map[string]string)(v))
	}
	*v = Values{}
	for _, text := range list {
		(*v)[text] = text
	}
	return nil
}

// Load reads the rows of all files in a directory.
func Load(dir string) ([]Row, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, file := range files {
		var some []Row
		if err := read(file, &some); err != nil {
			return nil, err
		}
		for _, r := range some {
			r.Name = strings.TrimSuffix(filepath.Base(file), ".yaml") + "/" + r.Name
			rows = append(rows, r.expand()...)
		}
	}
	return rows, nil
}

func read(file string, into any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// expand returns a row for each combination of values.
func (r Row) expand() []Row {
	rows := []Row{r}
	for _, word := range slices.Sorted(maps.Keys(r.For)) {
		var more []Row
		for _, row := range rows {
			for _, name := range slices.Sorted(maps.Keys(r.For[word])) {
				one := row.replace(strings.NewReplacer("{"+word+"}", r.For[word][name]))
				one.Name = row.Name + ", " + name
				more = append(more, one)
			}
		}
		rows = more
	}
	return rows
}

// replace returns the row with words replaced.
func (r Row) replace(words *strings.Replacer) Row {
	for _, text := range []*string{&r.Method, &r.Path, &r.Accept, &r.Instead, &r.Coding, &r.Body, &r.After, &r.Until} {
		*text = words.Replace(*text)
	}
	header := map[string]Lines{}
	for name, lines := range r.Header {
		for _, line := range lines {
			header[name] = append(header[name], words.Replace(line))
		}
	}
	r.Header = header
	shows := make([]string, len(r.Shows))
	for i, text := range r.Shows {
		shows[i] = words.Replace(text)
	}
	r.Shows = shows
	return r
}

// request returns what is to be sent.
func (r Row) request() harness.Request {
	h := http.Header{"User-Agent": {"conformance"}}
	if r.Accept != "" {
		h["Accept"] = []string{r.Accept}
	}
	for name, lines := range r.Header {
		h[http.CanonicalHeaderKey(name)] = lines
	}
	return harness.Request{Method: r.Method, Path: r.Path, Header: h, Body: []byte(r.Body), HTTP1: r.HTTP1}
}

// upstream returns the row as it is sent to the apiserver.
func (r Row) upstream() Row {
	if r.Instead != "" {
		r.Accept = r.Instead
	}
	return r
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
