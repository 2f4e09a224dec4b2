package listwatch

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"sluice/codec"
	"sluice/test/support/fake"
)

// The timeouts of package upstream.
const (
	headerTimeout = time.Minute
	bodyTimeout   = 5 * time.Minute
)

func TestEveryWaitForTheApiserverIsBounded(t *testing.T) {
	half := func(d fake.Resource) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			page := d.Page("10", "", "a/x@3")
			w.Header().Set("Content-Type", codec.MediaJSON)
			_, _ = w.Write(page[:len(page)/2])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	refusal := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("half a mess"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"discovery", fake.Hang},
				{"first list", half(d)},
				{"watchlist", fake.Hang},
				{"watchlist", refusal},
				{"watchlist", d.Stream(d.Added("a/gone@3"))}, // and no more
				{"page", half(d)},
				{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
				{"page", fake.Hang},
				{"page", d.PageBody("10", "", "a/x@3")},
				{"watch 10", fake.Hang},
				{"watch 10", d.Stream(d.Added("a/y@11"))}, // and no more
				{"watch 11", d.Stream(d.Added("a/z@12"))},
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				pass(time.Hour)
				e.CheckPlayed(t)
				calls := e.Calls()
				for i := range steps[1:] {
					call := calls[i]
					wait := calls[i+1].At.Sub(call.At)
					bound := bodyTimeout + time.Minute
					switch i {
					case 0, 2, 7, 9: // without a response
						bound = headerTimeout + time.Minute
					case 4: // with a streaming list
						bound = initialEventsSilence + time.Minute
					case 10: // with an open watch
						bound = 2*watchLife + overtime + time.Minute
					}
					if wait > bound {
						t.Errorf("waited %v after call %d, %s", wait, i, call.Name)
					}
				}
				e.check(t, 12, "a/x", "a/y", "a/z")
			})
		})
	}
}

func TestSlowApiserverInterruptsNothing(t *testing.T) {
	slowly := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(headerTimeout * 9 / 10)
			next(w, r)
		}
	}
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"discovery", slowly(d.Discovery())},
				{"first list", slowly(fake.Body(codec.MediaJSON, d.FirstList()))},
				{"watchlist", slowly(func(w http.ResponseWriter, r *http.Request) {
					d.Ended(d.Added("a/x@3"))(w, r)
					time.Sleep(2 * headerTimeout)
					d.Stream(d.InitialEventsEnd("10"))(w, r)
				})},
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				e.checkAfter(t, 6*time.Minute, 10, "a/x")
				if len(e.errors) != 0 {
					t.Errorf("interrupted by %v", e.errors)
				}
			})
		})
	}
}

func TestNoRequestBeforeRetryAfter(t *testing.T) {
	d := fake.Widgets
	refuse := fake.Refuse(http.StatusTooManyRequests, "Retry-After", "13")
	run(t, d, []step{{"discovery", refuse}, {"first list", refuse}, {"watchlist", refuse}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}}, func(t *testing.T, e *env) {
		pass(2 * time.Minute)
		e.CheckPlayed(t)
		calls := e.Calls()
		for i := range calls[1:] {
			if wait := calls[i+1].At.Sub(calls[i].At); wait < 13*time.Second || wait > 30*time.Second {
				t.Errorf("%s after %v", calls[i+1].Name, wait)
			}
		}
	})
}

// An apiserver that fails for two minutes is asked ever more rarely, and the store follows it within another one
// once it answers.
func TestApiserverThatFailsForMinutesIsAskedRarely(t *testing.T) {
	const outage, most = 2 * time.Minute, 12 // from 0.2 seconds on, each delay is twice the one before, up to 30 seconds
	d := fake.ConfigMaps
	filled := []step{{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))}}
	for _, tt := range []struct {
		name      string
		before    []step
		call      string // that fails
		recovered step
		version   uint64 // of the store meanwhile
	}{
		{"BeforeTheStoreIsFilled", nil, "discovery", step{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))}, 0},
		{"WhenItsWatchHasEnded", filled, "watch 10", step{"watch 10", d.Stream(d.Bookmark("20"))}, 10},
	} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable} {
			t.Run(fmt.Sprint(tt.name, status), func(t *testing.T) {
				fails := slices.Repeat([]step{{tt.call, fake.Refuse(status)}}, 100)
				run(t, d, append(slices.Clone(tt.before), fails...), func(t *testing.T, e *env) {
					pass(outage)
					if asked := len(e.Calls()) - len(tt.before); asked > most {
						t.Errorf("asked %d times within %v: %v", asked, outage, e.Calls())
					}
					e.check(t, tt.version, "a/x")
					e.SetSteps([]step{tt.recovered})
					e.checkAfter(t, time.Minute, 20, "a/x")
				})
			})
		}
	}
}
