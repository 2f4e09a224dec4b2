package forward_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/codec"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// A client that asks why its watch passed to the apiserver has ended finds the reason in the log.
func TestPassedWatchTellsHowItEnded(t *testing.T) {
	for _, row := range []struct {
		want    request.WatchEnd
		happens func(e *forwardtest.Env, w *request.PassedWatch, leave func(), end chan<- bool)
	}{
		{request.ClientClosed, func(_ *forwardtest.Env, _ *request.PassedWatch, leave func(), _ chan<- bool) { leave() }},
		{request.Timeout, func(_ *forwardtest.Env, _ *request.PassedWatch, _ func(), end chan<- bool) { end <- true }},
		{request.APIServerAway, func(e *forwardtest.Env, _ *request.PassedWatch, _ func(), end chan<- bool) { end <- false }},
		{request.Drained, func(_ *forwardtest.Env, w *request.PassedWatch, _ func(), _ chan<- bool) {
			w.How = request.Drained
			w.Ended.Set()
		}},
		{request.Failed, func(e *forwardtest.Env, _ *request.PassedWatch, _ func(), _ chan<- bool) {
			e.Memory.Users.SetTotal(0)
			e.Memory.Users.Shed(1)
		}},
	} {
		t.Run(string(row.want), func(t *testing.T) {
			watch, end := request.NewPassedWatch(false), make(chan bool)
			handler := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case whole := <-end:
					if !whole {
						panic(http.ErrAbortHandler)
					}
				case <-r.Context().Done():
				}
			}
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, PassedWatch: watch, Handler: handler})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			resp := e.Do(t, e.NewRequest(t, http.MethodGet, "/api/v1/pods?watch=1", nil, nil).WithContext(ctx))
			if _, err := io.ReadFull(resp.Body, make([]byte, len("{}\n"))); err != nil {
				t.Fatal(err)
			}
			row.happens(e, watch, leave, end)
			_, _ = io.Copy(io.Discard, resp.Body)
			if got := e.End(t).Outcome.End; got != row.want {
				t.Errorf("the watch has ended as %q", got)
			}
		})
	}
}

// Whether the apiserver or the client ends a watch after the ERROR event of an expired version, it has expired.
func TestPassedWatchOfAnExpiredVersionHasExpired(t *testing.T) {
	const object = `{"type":"ADDED","object":{"kind":"Pod"}}` + "\n"
	gone, failed := apierrors.NewResourceExpired("too old resource version: 1 (200)").Status(), apierrors.NewInternalError(io.EOF).Status()
	json := func(s metav1.Status) string {
		return `{"type":"ERROR","object":` + strings.TrimSpace(string(codec.AppendStatus(nil, &s, codec.Format{}))) + "}\n"
	}
	protobuf := func(s metav1.Status) string {
		event := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: codec.AppendStatus(nil, &s, codec.Format{Encoding: codec.Protobuf})}}
		frame, err := event.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(frame)))) + string(frame)
	}
	for _, row := range []struct {
		name, media, body string
		want              request.WatchEnd
	}{
		{"JSON", codec.MediaJSON, object + json(gone), request.Expired},
		{"Protobuf", codec.MediaProtobuf, protobuf(failed) + protobuf(gone), request.Expired},
		{"another error in JSON", codec.MediaJSON, json(gone) + json(failed), request.Timeout},
		{"another error in Protobuf", codec.MediaProtobuf, protobuf(gone) + protobuf(failed), request.Timeout},
		{"an object that looks like it", codec.MediaJSON, `{"type":"ADDED","object":` + strings.TrimSpace(json(gone)) + "}\n", request.Timeout},
		{"a long object", codec.MediaJSON, json(gone) + strings.Replace(object, "Pod", strings.Repeat("x", 3000), 1), request.Timeout},
	} {
		for _, first := range []string{"apiserver", "client"} {
			if first == "client" && row.want == request.Timeout {
				continue
			}
			t.Run(row.name+", ended by the "+first, func(t *testing.T) {
				handler := func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", row.media+";stream=watch")
					for _, piece := range []string{row.body[:len(row.body)-100], row.body[len(row.body)-100:]} {
						_, _ = io.WriteString(w, piece)
						_ = http.NewResponseController(w).Flush()
					}
					if first == "client" {
						<-r.Context().Done()
					}
				}
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, PassedWatch: request.NewPassedWatch(false), Handler: handler})
				resp := e.Get(t, "/api/v1/pods?watch=1", nil)
				body := io.Reader(resp.Body)
				if first == "client" {
					body = io.LimitReader(body, int64(len(row.body)))
				}
				if read, err := io.ReadAll(body); err != nil || string(read) != row.body {
					t.Fatalf("%q, %v", read, err)
				}
				resp.Body.Close()
				if got := e.End(t).Outcome.End; got != row.want {
					t.Errorf("the watch has ended as %q, want %q", got, row.want)
				}
			})
		}
	}
}

func TestPassedWatchThatNeverBeganHasNotEnded(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"refused":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no response": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, PassedWatch: request.NewPassedWatch(false), Handler: handler})
		e.Get(t, "/api/v1/pods?watch=1", nil)
		if got := e.End(t).Outcome.End; got != "" {
			t.Errorf("%s: the watch has ended as %q", name, got)
		}
	}
}
