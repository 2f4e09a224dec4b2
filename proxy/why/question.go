package why

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strings"
)

// Question is a request that is asked about.
type Question struct {
	Method string      `json:"method"`
	URL    string      `json:"url"` // a path with a query
	Header http.Header `json:"header,omitempty"`
	// User and Groups are whom the request impersonates.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

var errHeader = errors.New("a header is a line of a name, a colon and a value")

// ParseHeader reads header fields, a line each.
func ParseHeader(text string) (http.Header, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return http.Header{}, nil
	}
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(text + "\n\n"))).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errHeader // without the text, which may be a credential
	}
	return http.Header(h), nil
}

// ParseRequest reads a request as it is sent: a line of method and URL, and header fields.
func ParseRequest(text string) (Question, error) {
	line, header, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.Fields(line)
	if len(words) < 2 || len(words) > 3 {
		return Question{}, errors.New("the first line is no method and URL")
	}
	header, _, _ = strings.Cut(strings.ReplaceAll(header, "\r", ""), "\n\n") // without the body
	h, err := ParseHeader(header)
	return Question{Method: words[0], URL: words[1], Header: h}, err
}
