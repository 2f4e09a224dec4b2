package transcode_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestWriteThatIsNotKeptIsNotRepeated: neither one that is too long nor one beyond the caller's account.
func TestWriteThatIsNotKeptIsNotRepeated(t *testing.T) {
	long := thing + strings.Repeat(" ", 3<<20)
	for _, tt := range []struct {
		name, body string
		held       int64
	}{{"long", long, 1 << 30}, {"account", thing, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			server := &jsonServer{respond: respondStored}
			e := newEnv(t, server.ServeHTTP)
			e.Memory.Users.SetTotal(tt.held)
			resp := post(t, e, "application/json", "application/cbor", tt.body)
			if requests := server.takeRequests(); resp.StatusCode != 406 || len(requests) != 1 || requests[0].body != tt.body {
				t.Errorf("%s after %d requests", resp.Status, len(requests))
			}
		})
	}
}

// TestResponseBeyondLimitIsRefused: and the upstream's response is not read to its end.
func TestResponseBeyondLimitIsRefused(t *testing.T) {
	for method, want := range map[string]int{"GET": 406, "DELETE": 500} {
		done := make(chan error, 1)
		server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, _ []byte) {
			piece := bytes.Repeat([]byte(" "), 1<<20)
			_, err := io.WriteString(w, `{"kind":"ThingList","items":[`)
			for n := 0; n <= transcode.MaxResponse>>20 && err == nil; n++ {
				_, err = w.Write(piece)
			}
			if err == nil {
				<-r.Context().Done()
				err = r.Context().Err()
			}
			done <- err
		}}
		e := newEnv(t, server.ServeHTTP)
		resp := e.Do(t, e.NewRequest(t, method, thingsPath, acceptHeader("application/cbor"), nil))
		body := decode(forwardtest.ReadAll(t, resp.Body), resp.Header.Get("Content-Type"))
		if resp.StatusCode != want || !strings.Contains(body, "too large to be transcoded to application/cbor: limit is 33554432 bytes") {
			t.Errorf("%s: %s: %s", method, resp.Status, body)
		}
		if err := forwardtest.Receive(t, done, "end at the upstream"); err == nil {
			t.Error("the response was read to its end")
		}
	}
}

func TestResponseThatWouldGrowBeyondLimitIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, accept, response string }{
		{"depth", "application/yaml", `{"kind":"Thing","a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`},
		{"indentation", "application/yaml",
			`{"kind":"Thing","a":` + strings.Repeat("[", 100) + strings.Repeat("1,", 1<<19) + "1" + strings.Repeat("]", 100) + `}`},
		{"rows", "application/yaml" + asTable, `{"kind":"ThingList","apiVersion":"v1","items":[` + strings.Repeat("{},", 1<<17) + `{}]}`},
	} {
		e := newEnv(t, (&jsonServer{respond: respondWith(tt.response)}).ServeHTTP)
		if resp := e.Get(t, thingsPath, acceptHeader(tt.accept)); resp.StatusCode != 406 {
			t.Errorf("%s: %s", tt.name, resp.Status)
		}
	}
}

// A value of 7 bytes is a map of 350 while CBOR is made of it.
func TestSmallMapsCountBeforeTheyAreDecoded(t *testing.T) {
	const maps, memory = 1 << 20, 200 << 20
	list := `{"kind":"Thing","a":[` + strings.Repeat(`{"":0},`, maps) + `{}]}`
	e := newEnv(t, (&jsonServer{respond: respondWith(list)}).ServeHTTP)
	e.Memory.Unauthenticated.SetTotal(memory)
	e.Memory.Users.SetTotal(memory)
	if resp := e.Get(t, thingsPath, acceptHeader("application/cbor")); resp.StatusCode != 429 {
		t.Errorf("%s", resp.Status)
	}
}

func TestAccountBoundsWritesAndGetsItsMemoryBack(t *testing.T) {
	respond := make(chan bool)
	server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, body []byte) {
		<-respond
		respondStored(w, r, body)
	}}
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.Unauthenticated, Handler: server.ServeHTTP})
	create := func() int {
		return post(t, e, "application/json", "application/cbor", thing).StatusCode
	}
	const quota = 3 * transcode.WriteReserve
	e.Memory.Unauthenticated.SetTotal(quota*4/3*16/15 + 16)
	const writes = quota/transcode.WriteReserve + 1 // each reserves a little more than WriteReserve
	codes := make(chan int, writes)
	var all sync.WaitGroup
	for range writes {
		all.Go(func() { codes <- create() })
	}
	if code := forwardtest.Receive(t, codes, "response"); code != 429 {
		t.Errorf("beyond the account: %d", code)
	}
	close(respond)
	all.Wait()
	close(codes)
	for code := range codes {
		if code != 201 && code != 429 {
			t.Errorf("within the account: %d", code)
		}
	}
	if code := create(); code != 201 {
		t.Errorf("afterwards: %d", code)
	}
	for range writes + 1 {
		e.End(t)
	}
	expectNothingTaken(t, e)
}

// expectNothingTaken fails the test unless no client holds memory.
func expectNothingTaken(t *testing.T, e *forwardtest.Env) {
	t.Helper()
	if users, others := e.Memory.Users.Usage().Held, e.Memory.Unauthenticated.Usage().Held; users != 0 || others != 0 {
		t.Errorf("%d and %d bytes are taken", users, others)
	}
}

func TestMemoryIsGivenBackAfterBrokenResponses(t *testing.T) {
	for _, head := range []string{"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", "099 Odd", "200 OK\r\nContent-Length: 9"} {
		handler := func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 "+head+"\r\n\r\n")
			conn.Close()
		}
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, UpstreamHTTP1: true, Handler: handler})
		h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/cbor"}}
		resp, err := e.Client.Do(e.NewRequest(t, "POST", thingsPath, h, strings.NewReader(thing)))
		if err == nil {
			resp.Body.Close()
		}
		e.End(t)
		expectNothingTaken(t, e)
	}
}

func TestConcurrentRequestsDoNotMix(t *testing.T) {
	server := &jsonServer{respond: func(w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method == "GET" {
			body = []byte(thingList)
		}
		_, _ = w.Write(body)
	}}
	e := newEnv(t, server.ServeHTTP)
	go func() {
		for range e.Received { // so that the upstream does not wait
		}
	}()
	defer close(e.Received)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for j := range 10 {
				object := strings.Replace(thing, `"a"`, fmt.Sprintf(`"a-%d-%d"`, i, j), 1)
				resp := post(t, e, "application/json", "application/cbor", object)
				if got := decode(forwardtest.ReadAll(t, resp.Body), "application/cbor"); got != canonical(object) {
					t.Errorf("create: %s", got)
				}
				resp = e.Get(t, thingsPath, acceptHeader("application/yaml"))
				if got := decode(forwardtest.ReadAll(t, resp.Body), "application/yaml"); got != canonical(thingList) {
					t.Errorf("list: %s", got)
				}
			}
		})
	}
	all.Wait()
}
