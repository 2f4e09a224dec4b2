package forward

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/proxy/request"
)

func frame(text string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// streams are bodies of watches, event by event.
func streams() map[string][]string {
	return map[string][]string{
		"application/json":                    {"{\"a\":\"}\\\"{\"}\n", "{\"b\":[{},{\"c\":{}}]}\n", "{}\n"},
		"application/json;stream=watch":       {"{}", "{\"b\":[]}\n", " {\n}\r\n"}, // without newlines between, or with more
		"application/vnd.kubernetes.protobuf": {frame("k8s\x00 one"), frame(""), frame(strings.Repeat("x", 70000))},
	}
}

// A watch that ended inside an event would look cut off to its client.
func TestScannerFindsTheEndOfEveryEventHoweverItArrives(t *testing.T) {
	for media, events := range streams() {
		whole := strings.Join(events, "")
		for _, size := range []int{1, 2, 3, 7, len(whole)} {
			s := newEventScanner(media)
			if !s.between() {
				t.Errorf("%s: not between events at the beginning", media)
			}
			ends, last := map[int]bool{}, 0
			for at := 0; at < len(whole); at += size {
				piece := []byte(whole[at:min(at+size, len(whole))])
				end := s.scan(piece)
				if end >= 0 {
					last = at + end
					ends[last] = true
				}
				if now := at + len(piece); s.between() && strings.TrimSpace(whole[last:now]) != "" {
					t.Errorf("%s in pieces of %d: between events at %d, the last end is %d", media, size, now, last)
				}
			}
			if !ends[len(whole)] {
				t.Errorf("%s in pieces of %d: the end of the last event is not found", media, size)
			}
			if size > 1 {
				continue
			}
			for at, n := 0, 0; n < len(events); n++ {
				if at += len(events[n]); !ends[at] {
					t.Errorf("%s: the end of event %d at %d is not found: %v", media, n, at, ends)
				}
			}
		}
	}
}

func TestScannerFindsNoEndInAStreamOfSomethingElse(t *testing.T) {
	s := newEventScanner("application/json")
	if end := s.scan([]byte("no events\n{}\n")); end >= 0 || s.between() {
		t.Errorf("an event ends at %d", end)
	}
}

// upstreamWatch is the response to a passed watch, whose body ends with an error once it is canceled.
type upstreamWatch struct {
	*io.PipeWriter
	body  io.ReadCloser // as passed to the client
	watch *request.PassedWatch
}

func newUpstreamWatch(t *testing.T, initialEvents bool, header http.Header) *upstreamWatch {
	t.Helper()
	u := &upstreamWatch{watch: request.NewPassedWatch(initialEvents)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := (&http.Request{}).WithContext(context.WithValue(ctx, passingKey{}, &passing{cancel: cancel}))
	in, out := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Canceled) })
	u.PipeWriter = out
	resp := &http.Response{StatusCode: http.StatusOK, Header: header, Body: in, Request: r}
	endBetweenEvents(resp, u.watch)
	u.body = resp.Body
	t.Cleanup(func() { _ = u.body.Close() })
	return u
}

var inJSON = http.Header{"Content-Type": {"application/json"}}

func TestPassedWatchEndsBetweenEvents(t *testing.T) {
	for _, row := range []struct{ name, before, after, want string }{
		{"quiet", "", "", ""},
		{"after an event", "{}\n", "", "{}\n"},
		{"inside an event", "{}\n{\"a\":", "{}}\n{", "{}\n{\"a\":{}}\n"},
		{"inside an event that is cut", "{}\n{\"a\":", "{}", "{}\n{\"a\":{}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUpstreamWatch(t, false, inJSON)
				var got bytes.Buffer
				read := make(chan error, 1)
				go func() {
					_, err := io.Copy(&got, u.body)
					read <- err
				}()
				if row.before != "" {
					_, _ = io.WriteString(u, row.before)
				}
				synctest.Wait()
				u.watch.Ended.Set()
				synctest.Wait()
				if row.after != "" {
					_, _ = io.WriteString(u, row.after)
				}
				synctest.Wait()
				cut := strings.HasSuffix(row.name, "cut")
				if cut {
					_ = u.CloseWithError(io.ErrUnexpectedEOF)
				}
				if err := <-read; (err != nil) != cut || got.String() != row.want {
					t.Errorf("got %q, %v, want %q", got.String(), err, row.want)
				}
			})
		})
	}
}

func TestPassedWatchThatCannotBeScannedIsLeftAlone(t *testing.T) {
	for _, header := range []http.Header{
		{"Content-Type": {"text/html"}}, {"Content-Type": {"application/yaml"}}, {"Content-Type": {"application/cbor-seq"}}, {},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
	} {
		u := newUpstreamWatch(t, false, header)
		if _, ok := u.body.(*watchBody); ok {
			t.Errorf("%v is scanned", header)
		}
		select {
		case <-u.watch.Opened.Done():
		default:
			t.Errorf("%v is not counted as open", header)
		}
	}
}

// A client that is ended among its initial events has to begin again.
func TestPassedWatchIsResumableAfterItsInitialEvents(t *testing.T) {
	const marker = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	for _, size := range []int{1, 10, 1000} {
		u := newUpstreamWatch(t, true, inJSON)
		go func() {
			text := "{}\n{}\n" + marker
			for at := 0; at < len(text); at += size {
				_, _ = io.WriteString(u, text[at:min(at+size, len(text))])
			}
			_ = u.CloseWithError(io.EOF)
		}()
		p := make([]byte, 2048)
		read := 0
		for {
			n, err := u.body.Read(p)
			read += n
			select {
			case <-u.watch.Resumable.Done():
				if read <= len("{}\n{}\n") {
					t.Errorf("in pieces of %d: resumable after %d bytes", size, read)
				}
			default:
				if err != nil {
					t.Errorf("in pieces of %d: not resumable", size)
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
		}
	}
}
