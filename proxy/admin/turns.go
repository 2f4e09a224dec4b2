package admin

import (
	"bytes"
	"io"
	"net/http"
	"runtime"

	"sluice/proxy/accounts"
	"sluice/proxy/connections"
	"sluice/proxy/queue"
	"sluice/proxy/request"
)

// maxBody is how much of a body is read before the request has its turn: more than any path accepts.
const maxBody = 64<<10 + 1

// turns gives a quarter of the processors, and at least one, to requests of one kind, by the address in turn: a probe
// waits for one request of each other address at most.
type turns struct{ queue *queue.Queue }

func newTurns() turns { return turns{queue.New(int64(max(1, runtime.GOMAXPROCS(0)/4)))} }

// handler has next work in turn. No turn waits for a client: the body is read before it, and the response sent after it.
func (t turns) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		ticket := t.queue.Join(accounts.ByAddress(request.AddressKey(r.RemoteAddr)), 1, 0)
		defer ticket.Leave()
		yielded := connections.Yield(r.Context())
		err := ticket.Wait(r.Context())
		if yielded(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // the client has gone
			return
		}
		h := &heldResponse{ResponseWriter: w, ticket: ticket}
		next.ServeHTTP(h, r)
		_ = h.send() // an error means that the client is gone
	})
}

// heldResponse holds the body of a response until its turn ends. A handler that flushes, as streams do, ends it.
type heldResponse struct {
	http.ResponseWriter
	ticket *queue.Ticket
	body   bytes.Buffer
	sent   bool
}

// Write implements http.ResponseWriter.
func (h *heldResponse) Write(p []byte) (int, error) {
	if h.sent {
		return h.ResponseWriter.Write(p)
	}
	return h.body.Write(p)
}

// FlushError is what http.ResponseController calls.
func (h *heldResponse) FlushError() error {
	if err := h.send(); err != nil {
		return err
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (h *heldResponse) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// send ends the turn and sends what was held.
func (h *heldResponse) send() error {
	h.ticket.Leave()
	h.sent = true
	_, err := h.body.WriteTo(h.ResponseWriter)
	return err
}
