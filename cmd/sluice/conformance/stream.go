package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is an event of a watch.
type event struct {
	Type   string `json:"type"`
	Object struct {
		Kind              string `json:"kind"`
		metav1.ObjectMeta `json:"metadata"`
		Code              int    `json:"code"` // of the Status of an ERROR event
		Message           string `json:"message"`
	} `json:"object"`
}

// stream is a watch that is open.
type stream struct {
	events chan event
	err    error // io.EOF after an end in order; valid once events is closed
}

// errLate is returned when nothing has come in time.
var errLate = errors.New("nothing has come in time")

// watch opens a watch. It ends with ctx.
func (p *probe) watch(ctx context.Context, path string, header http.Header, wait time.Duration) (*stream, error) {
	resp, err := p.open(ctx, path, header, wait)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer time.AfterFunc(p.Patience, func() { resp.Body.Close() }).Stop()
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody)) // what there is of it tells why
		return nil, (&answer{resp, body}).refusal()
	}
	s := &stream{events: make(chan event)}
	go s.read(ctx, resp.Body)
	return s, nil
}

func (s *stream) read(ctx context.Context, body io.ReadCloser) {
	defer body.Close()
	defer close(s.events)
	for decoder := json.NewDecoder(body); ; {
		var e event
		if s.err = decoder.Decode(&e); s.err != nil {
			return
		}
		select {
		case s.events <- e:
		case <-ctx.Done():
			s.err = context.Cause(ctx)
			return
		}
	}
}

// next returns the next event, io.EOF at the end, or errLate. An ERROR event is returned as a refusal.
func (s *stream) next(late <-chan time.Time) (event, error) {
	select {
	case e, ok := <-s.events:
		switch {
		case !ok:
			return e, s.err
		case e.Type == "ERROR":
			return e, &refusal{code: e.Object.Code, text: fmt.Sprintf("an ERROR event: %d %s", e.Object.Code, e.Object.Message)}
		case e.Type == "":
			return e, errors.New("a list instead of events: the parameter watch was lost")
		}
		return e, nil
	case <-late:
		return event{}, errLate
	}
}

// end reads the watch up to its end, or until late.
func (s *stream) end(late <-chan time.Time) (events []event, err error) {
	for {
		e, err := s.next(late)
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}
