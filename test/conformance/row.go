package conformance

import (
	"cmp"
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

// Row is one request, or with For one request for each combination of values.
type Row struct {
	Name   string            `json:"name"`
	For    map[string]Values `json:"for"`    // {word} in any text of the row stands for each value
	User   string            `json:"user"`   // default: admin; "anonymous" has no credentials
	Method string            `json:"method"` // default: GET
	Path   string            `json:"path"`   // with its query; variables such as {now} are replaced; default: {path}
	Accept string            `json:"accept"` // the Accept header, or its name in formats; default: {accept}, if For has it
	// Instead is the Accept header for the apiserver where it refuses a format that Sluice
	// supports. Sluice's response must be equal to the response to that.
	Instead string           `json:"instead"`
	Header  map[string]Lines `json:"header"`
	Body    string           `json:"body"`
	HTTP1   bool             `json:"http1"`
	// After is the path of a list that is read before at each server. The row is sent to both
	// servers with each continue token as {continue}.
	After string `json:"after"`
	// Confirmed is the path of a list of the most recent state that is repeated at Sluice until a roll call
	// proves it. The row is sent with its {version}, and with the {continue} token that each server makes of
	// that version. Then it is sent with those of the same list at the apiserver, until Sluice responds to
	// it from the required source.
	Confirmed string `json:"confirmed"`
	// Until ends a watch after the first event that contains this text.
	Until string `json:"until"`
	// Initial ends a watch after its initial events: one for each object that the apiserver lists.
	// A server that is slower than timeoutSeconds ends a watch before them, with nothing that
	// tells. Where that makes the responses of other watches differ, they are sent again with more
	// time.
	Initial bool `json:"initial"`
	// Source is the required source of Sluice's response: cache, which is the default, upstream, or
	// gateway for a refusal of Sluice; either for small reads, which may pass.
	Source string `json:"source"`
	// Status, by default 200, is checked at both servers, so that no row tests nothing. For the same
	// reason the apiserver's body must contain all texts of Shows.
	Status int      `json:"status"`
	Shows  []string `json:"shows"`
	// Coding is the content coding of Sluice's response; the apiserver's has none.
	Coding string `json:"coding"`
	// Loose compares only status and headers, since the body differs.
	Loose bool `json:"loose"`
	// Exact compares the resource versions of lists too.
	Exact bool `json:"exact"`
	// Since and Before leave the row out with other releases of the apiserver, such as 1.38.
	Since  string `json:"since"`
	Before string `json:"before"`
	// Known is the reason of a known difference. The row fails when the difference is gone.
	Known string `json:"known"`
}

// Lines are the lines of one header; a single line may be written as a string.
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

// Values are the values of a word, by their names in the names of rows. In a list, each value is
// its own name.
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

// Load returns the rows of files, by a pattern of their names.
func Load(pattern string) ([]Row, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, file := range files {
		var fileRows []Row
		if err := read(file, &fileRows); err != nil {
			return nil, err
		}
		for _, r := range fileRows {
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
	r.Status, r.Source = cmp.Or(r.Status, http.StatusOK), cmp.Or(r.Source, "cache")
	if _, ok := r.For["accept"]; ok {
		r.Accept = cmp.Or(r.Accept, "{accept}")
	}
	r.Path = cmp.Or(r.Path, "{path}")
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
	for i := range rows {
		rows[i].Accept, rows[i].Instead = acceptHeader(rows[i].Accept), acceptHeader(rows[i].Instead)
	}
	return rows
}

// acceptHeader returns the header that a name of formats stands for, or the text itself.
func acceptHeader(text string) string {
	if header, ok := formats[text]; ok {
		return header
	}
	return text
}

// replace returns the row with variables replaced.
func (r Row) replace(variables *strings.Replacer) Row {
	for _, text := range []*string{&r.Method, &r.Path, &r.Accept, &r.Instead, &r.Coding, &r.Body, &r.After, &r.Confirmed, &r.Until} {
		*text = variables.Replace(*text)
	}
	header := map[string]Lines{}
	for name, lines := range r.Header {
		for _, line := range lines {
			header[name] = append(header[name], variables.Replace(line))
		}
	}
	r.Header = header
	shows := make([]string, len(r.Shows))
	for i, text := range r.Shows {
		shows[i] = variables.Replace(text)
	}
	r.Shows = shows
	return r
}

// request returns the request to send.
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

// upstream returns the row for the apiserver.
func (r Row) upstream() Row {
	if r.Instead != "" {
		r.Accept = r.Instead
	}
	return r
}

// user returns the harness's name of the row's user.
func (r Row) user() string {
	switch r.User {
	case "":
		return "admin"
	case "anonymous":
		return harness.Anonymous
	}
	return r.User
}
