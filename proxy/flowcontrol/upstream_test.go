package flowcontrol

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/request"
)

// seats are places of a Queue.
type seats struct{ *queue.Queue }

func (s seats) Take(ctx context.Context, r *http.Request) (Seat, error) {
	leave, err := s.Enter(ctx, request.From(r.Context()).Account.Key)
	return seat{leave}, err
}

// seat is one of seats, which slow responses keep.
type seat struct{ leave func() }

func (s seat) Leave()            { s.leave() }
func (s seat) Slow(func()) error { return nil }

// checkEmpty fails the test unless nothing runs or waits.
func checkEmpty(t *testing.T, q *queue.Queue) {
	t.Helper()
	if r, w := q.Numbers(); r != 0 || w != 0 {
		t.Errorf("%d run, %d wait", r, w)
	}
}

// Each write of a passed response that its client accepts slowly says so again.
func TestSlowResponseCountsOnce(t *testing.T) {
	seats, ledger := seats{queue.New(4)}, accounts.New(accounts.Totals{accounts.SlowResponses: 1}, math.MaxInt64)
	r := httptest.NewRequest("GET", lists, nil)
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	info.Caller, info.User, info.Account = request.BearerToken, "jane", ledger.Account(accounts.ByUser("jane"))
	p := NewUpstream(seats, 1, time.Minute).Place(r.WithContext(request.With(r.Context(), info)), func() { t.Error("the response ends") })
	if err := p.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.Slow()
		if running, _ := seats.Numbers(); running != 1 || ledger.Usage(accounts.SlowResponses).Used != 1 {
			t.Errorf("%d seats, %d slow responses", running, ledger.Usage(accounts.SlowResponses).Used)
		}
	}
	p.Leave()
	if n := ledger.Usage(accounts.SlowResponses).Used; n != 0 {
		t.Errorf("%d slow responses are left", n)
	}
	checkEmpty(t, seats.Queue)
	if p.Slow(); ledger.Usage(accounts.SlowResponses).Used != 0 {
		t.Error("a response counts that has ended")
	}
}

func TestOneOfTooManySlowResponsesEndsAndSaysWhy(t *testing.T) {
	seats, ledger := seats{queue.New(4)}, accounts.New(accounts.Totals{accounts.SlowResponses: 1}, math.MaxInt64)
	var ended []string
	var places []*Place
	for _, user := range []string{"jane", "joe"} {
		r := httptest.NewRequest("GET", lists, nil)
		info, err := request.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		info.Caller, info.User, info.Account = request.BearerToken, user, ledger.Account(accounts.ByUser(user))
		p := NewUpstream(seats, 1, time.Minute).Place(r.WithContext(request.With(r.Context(), info)), func() { ended = append(ended, user) })
		if err := p.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Slow()
		places = append(places, p)
	}
	if len(ended) != 1 || ended[0] != "joe" || places[0].Crowded() || !places[1].Crowded() {
		t.Errorf("ended %v; crowded: %v, %v", ended, places[0].Crowded(), places[1].Crowded())
	}
	for _, p := range places {
		p.Leave()
	}
	checkEmpty(t, seats.Queue)
}
