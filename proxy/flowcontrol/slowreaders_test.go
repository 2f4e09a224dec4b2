package flowcontrol

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/accounts"
	"sluice/proxy/response"
)

// churned is a store with one object of 1,000 bytes and no history to speak of, whose object is replaced
// n times after the snapshot, so that only a reader holds it.
func churned(t *testing.T) (*cache.Store, *cache.Snapshot) {
	t.Helper()
	object := func(version uint64) *tree.Object {
		return &tree.Object{Key: "ns/a", RV: version, Data: make([]byte, 1000)}
	}
	s := cache.New(cache.Options{HistoryBytes: 1}, []*tree.Object{object(1)}, 1)
	before := s.Snapshot()
	for version := uint64(2); version < 10; version++ {
		if err := s.Apply(cache.Modified, object(version), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return s.Store, before
}

// readers tracks readers and records which were told to end.
type readers struct {
	*SlowReaders
	ledger *accounts.Ledger
	ended  []string
	writes sync.WaitGroup // of stall
}

// newReaders returns readers that may hold so many bytes together.
func newReaders(limit int64) *readers {
	return &readers{SlowReaders: NewSlowReaders(), ledger: accounts.New(accounts.Totals{accounts.Held: limit}, math.MaxInt64)}
}

// held returns what the readers hold.
func (r *readers) held() int64 { return r.ledger.Usage(accounts.Held).Used }

func (r *readers) hold(t *testing.T, user string, shared ...*heldState) *Reader {
	t.Helper()
	reader := r.Track(r.ledger.Account(accounts.ByUser(user)), response.NewWriteDeadline(httptest.NewRecorder()), func() { r.ended = append(r.ended, user) })
	state := &heldState{}
	if len(shared) > 0 {
		state = shared[0]
	} else {
		state.store, state.snapshot = churned(t)
	}
	reader.Hold(state.store, state.snapshot)
	return reader
}

func TestReadersOfTheHeaviestUserEndFirst(t *testing.T) {
	store, snapshot := churned(t)
	one := store.Held(snapshot)
	if one < 1000 {
		t.Fatalf("a reader holds %d bytes", one)
	}
	for _, tt := range []struct {
		name  string
		limit int64
		users map[string]int // and how many readers each has
		want  []string
	}{
		{"within the limits", 10 * one, map[string]int{"a": 5, "b": 5}, nil},
		{"all have too much", 10 * one, map[string]int{"a": 8, "b": 3, "c": 1}, []string{"a", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReaders(tt.limit)
				for user, n := range tt.users {
					for range n {
						r.hold(t, user)
					}
				}
				r.measure(time.Now())
				if len(r.ended) > 0 {
					t.Errorf("ended at once: %v", r.ended)
				}
				time.Sleep(spared)
				for range 2 { // the second changes nothing
					r.measure(time.Now())
				}
				if !slices.Equal(r.ended, tt.want) {
					t.Errorf("ended %v, want %v", r.ended, tt.want)
				}
				if held := r.held(); held > tt.limit {
					t.Errorf("%d bytes are held", held)
				}
			})
		})
	}
}

// Many readers of one list hold it once.
func TestStateThatReadersShareCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &heldState{}
		state.store, state.snapshot = churned(t)
		one := state.store.Held(state.snapshot)
		r := newReaders(20 * one)
		for i := range 100 {
			r.hold(t, fmt.Sprint(i%3), state)
		}
		time.Sleep(time.Hour)
		r.measure(time.Now())
		if held := r.held(); len(r.ended) > 0 || held < one || held > one+100 {
			t.Errorf("%d bytes are held, one reader holds %d; ended %v", held, one, r.ended)
		}
	})
}

// When a second reader takes the same state, each counts half of it.
func TestStateThatAReaderBeginsToShareCountsOnce(t *testing.T) {
	for range 20 { // whichever comes first
		synctest.Test(t, func(t *testing.T) {
			state := &heldState{}
			state.store, state.snapshot = churned(t)
			one := state.store.Held(state.snapshot)
			r := newReaders(one + one/4)
			r.hold(t, "a", state)
			time.Sleep(spared)
			r.measure(time.Now())
			r.hold(t, "b", state)
			r.measure(time.Now())
			if held := r.held(); len(r.ended) > 0 || held < one || held > one+2 {
				t.Errorf("%d bytes are held of %d; ended %v", held, one, r.ended)
			}
		})
	}
}

// The end of one of them frees nothing.
func TestStateThatReadersShareIsFreedByTheEndOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &heldState{}
		state.store, state.snapshot = churned(t)
		r := newReaders(state.store.Held(state.snapshot) / 2)
		for i := range 30 {
			r.hold(t, fmt.Sprint(i%3), state)
		}
		time.Sleep(spared)
		for range 10 { // each ends about half of those that are left
			r.measure(time.Now())
		}
		if held := r.held(); len(r.ended) != 30 || held != 0 {
			t.Errorf("%d of 30 are ended, %d bytes are held", len(r.ended), held)
		}
	})
}

func TestReaderThatLetsGoCountsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(1)
		r.hold(t, "a").Hold(nil, nil)
		r.hold(t, "b").Done()
		time.Sleep(time.Hour)
		r.measure(time.Now())
		if len(r.ended) > 0 || r.held() != 0 {
			t.Errorf("ended %v, %d bytes are held", r.ended, r.held())
		}
	})
}

// stuck is a client that accepts nothing until its connection is cut.
type stuck struct {
	http.ResponseWriter
	cut chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	<-s.cut
	return 0, http.ErrHandlerTimeout
}

func (s *stuck) SetWriteDeadline(time.Time) error {
	close(s.cut)
	return nil
}

// stall writes to a client that accepts nothing.
func (r *readers) stall(t *testing.T, user string, bytes int64) *Reader {
	t.Helper()
	w := &stuck{cut: make(chan struct{})}
	client := response.NewWriteDeadline(w)
	reader := r.Track(r.ledger.Account(accounts.ByUser(user)), client, func() { client.EndWithin(0) })
	if err := reader.Buffer(bytes); err != nil {
		t.Fatal(err)
	}
	r.writes.Go(func() {
		defer reader.Done()
		_, _ = client.Write(w, []byte("x"))
	})
	return reader
}

// 600 readers of 1 MB took 600 MB within a moment, and 8,000 of a pod kept the garbage collector busy.
func TestBuffersThatClientsDoNotEmptyMakeRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReaders(20)
		stalled := []*Reader{r.stall(t, "heavy", 6), r.stall(t, "heavy", 8)}
		quick := r.Track(r.ledger.Account(accounts.ByUser("light")), response.NewWriteDeadline(httptest.NewRecorder()), func() {})
		if err := quick.Buffer(7); err == nil {
			t.Error("a client has no time to accept what is written")
		}
		time.Sleep(patience)
		if err := quick.Buffer(7); err != nil || !stalled[0].Ended() || stalled[1].Ended() {
			t.Errorf("%v; ended: %v, %v", err, stalled[0].Ended(), stalled[1].Ended())
		}
		quick.Done()
		stalled[1].finish()
		r.writes.Wait()
		if n := r.held(); n != 0 {
			t.Errorf("%d bytes are held in the end", n)
		}
	})
}

// What is measured of clients that accept nothing makes room for the lists of others at once.
func TestBlockedResponsesMakeRoomHoweverYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newReaders(4 * blockedBytes)
		var stalled []*Reader
		for range 8 {
			stalled = append(stalled, s.stall(t, "heavy", 0))
		}
		time.Sleep(slowAfter + 1)
		s.measure(time.Now())
		other := s.Track(s.ledger.Account(accounts.ByUser("light")), response.NewWriteDeadline(httptest.NewRecorder()), func() {})
		if held, err := s.held(), other.Buffer(blockedBytes); held != 4*blockedBytes || err != nil {
			t.Errorf("beside %d bytes: %v", held, err)
		}
		other.Done()
		for _, r := range stalled {
			r.finish()
		}
		s.writes.Wait()
	})
}

func TestBlockedWritesCountTheirBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newReaders(2 * blockedBytes)
		var tracked []*Reader
		for range 3 {
			w := &stuck{cut: make(chan struct{})}
			client := response.NewWriteDeadline(w)
			tracked = append(tracked, s.Track(s.ledger.Account(accounts.ByUser("a")), client, func() { client.EndWithin(0) }))
			go func() { _, _ = client.Write(w, []byte("x")) }()
		}
		time.Sleep(slowAfter + 1)
		s.measure(time.Now())
		if held := s.held(); held != 2*blockedBytes || !tracked[0].WasBlocked() || tracked[0].WasBlocked() {
			t.Errorf("%d bytes are held", held)
		}
		time.Sleep(spared)
		s.measure(time.Now())
		synctest.Wait()
		ended := 0
		for _, r := range tracked {
			if r.Ended() {
				ended++
			}
			r.Done()
		}
		if ended != 1 {
			t.Errorf("%d responses are ended", ended)
		}
		time.Sleep(response.WriteTimeout)
	})
}

// 250 watches that each blocked at another event of 6 MB held 900 MB.
func TestLongTextsCountOnceForAllWhoWriteThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 8 * blockedBytes
		s := newReaders(100 * blockedBytes)
		shared, own := make([]byte, length), make([]byte, length)
		var stalled []*Reader
		for _, text := range [][]byte{shared, shared, own} {
			r := s.stall(t, "a", 0)
			r.client.Hold(text)
			stalled = append(stalled, r)
		}
		time.Sleep(slowAfter + 1)
		s.measure(time.Now())
		if held := s.held(); held != 2*length+3*blockedBytes {
			t.Errorf("%d bytes are held", held)
		}
		for _, r := range stalled {
			r.finish()
		}
		s.writes.Wait()
	})
}
