package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// maxBody bounds the bytes of an answer that are read.
const maxBody = 256 << 20

// Client reads an API with one identity, through one endpoint.
type Client struct {
	Endpoint string // the URL below which the API is
	cfg      *rest.Config
	http     *http.Client
}

// NewClient returns a client for an endpoint. Its transport is that of client-go.
func NewClient(cfg *rest.Config) (*Client, error) {
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	// A redirect, to a page where people log in perhaps, is an answer that no client expects.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	return &Client{strings.TrimSuffix(base.String(), "/"), cfg, client}, nil
}

// Exchange is a request, and what of its answer does not change while objects do.
type Exchange struct {
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

// open sends a request and returns when the header of its answer is there, within wait. If the server
// answers 429, it sends the request again when the server asks for that. The answer is cut when ctx ends.
func (p *probe) open(ctx context.Context, path string, header http.Header, wait time.Duration) (*http.Response, error) {
	timed, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(wait, func() { cancel(fmt.Errorf("no answer within %s", wait)) })
	defer timer.Stop()
	req, err := http.NewRequestWithContext(timed, http.MethodGet, p.client.Endpoint+path, nil)
	if err != nil {
		cancel(err)
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	for name, values := range header {
		req.Header[name] = values
	}
	for {
		resp, err := p.client.http.Do(req)
		if err != nil {
			err = because(timed, err)
			cancel(err)
			return nil, err
		}
		if resp.StatusCode != http.StatusTooManyRequests {
			p.note(path, req, resp)
			return resp, nil
		}
		resp.Body.Close()
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		select {
		case <-timed.Done():
			return nil, errors.New("429, and nothing else")
		case <-time.After(time.Duration(max(after, 1)) * time.Second):
		}
	}
}

// because returns why ctx has ended, or else err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (p *probe) note(path string, req *http.Request, resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := fmt.Sprintf("%s %s %s", resp.Status, resp.Header.Get("Content-Type"), resp.Header.Get("Content-Encoding"))
	e := Exchange{fmt.Sprintf("GET %s (Accept: %s)", path, req.Header.Get("Accept")), strings.TrimSpace(answer)}
	if !slices.Contains(p.asked, e) {
		p.asked = append(p.asked, e)
	}
}

// answer is an answer that was read to its end.
type answer struct {
	*http.Response
	body []byte
}

// get reads the answer to a request, whatever its status.
func (p *probe) get(ctx context.Context, path string, header http.Header) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*p.Patience, fmt.Errorf("not complete after %s", 2*p.Patience))
	defer cancel()
	resp, err := p.open(ctx, path, header, p.Patience)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("cut after %d bytes: %w", len(body), because(ctx, err))
	}
	return &answer{resp, body}, nil
}

// read decodes the answer to a request, which must be 200.
func (p *probe) read(ctx context.Context, path string, header http.Header, into any) (*answer, error) {
	a, err := p.get(ctx, path, header)
	switch {
	case err != nil:
		return nil, err
	case a.StatusCode != http.StatusOK:
		return nil, a.refusal()
	case into != nil:
		err = a.decode(into)
	}
	return a, err
}

func (a *answer) decode(into any) error {
	if json.Unmarshal(a.body, into) != nil {
		return fmt.Errorf("%d %s that is not JSON: %.60q", a.StatusCode, a.Header.Get("Content-Type"), a.body)
	}
	return nil
}

// refusal is an answer that is not 200, or an ERROR event.
type refusal struct {
	code   int
	status metav1.Status // has a kind if the API itself refused
	text   string
}

func (r *refusal) Error() string { return r.text }

func (a *answer) refusal() *refusal {
	r := &refusal{code: a.StatusCode}
	if a.decode(&r.status) != nil || r.status.Kind != "Status" {
		r.status = metav1.Status{}
		r.text = fmt.Sprintf("%d without a Status: %s %.60q", r.code, a.Header.Get("Content-Type"), a.body)
		return r
	}
	r.text = fmt.Sprintf("%d %s", r.code, r.status.Message)
	return r
}

// refused returns the refusal in err, or an empty one.
func refused(err error) *refusal {
	r := &refusal{}
	errors.As(err, &r)
	return r
}
