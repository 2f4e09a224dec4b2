package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/watch"
	"sluice/test/support/servetest"
)

// filling is a Resources whose one store is being filled.
type filling struct {
	*env

	mu       sync.Mutex // guards missing of env and the fields below
	progress resources.Progress
	changed  chan struct{}
	none     bool // no store is to come
	looks    atomic.Int64
}

// newFilling returns an env whose resource is not in sync.
func newFilling(t *testing.T) *filling {
	f := &filling{changed: make(chan struct{})}
	f.env = newEnv(t, servetest.Foos(3), Options{Resources: f, Spread: func() time.Duration { return 5 * time.Second }})
	f.Missing = resources.NotInSync
	return f
}

// Lookup implements Resources.
func (f *filling) Lookup(r schema.GroupVersionResource, user string) (*resources.CachedResource, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.env.Lookup(r, user)
}

// Look implements Resources.
func (f *filling) Look(r schema.GroupVersionResource) (*resources.CachedResource, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks.Add(1)
	return f.env.Look(r)
}

// Progress implements Resources.
func (f *filling) Progress(schema.GroupVersionResource) resources.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress
	if !f.none {
		p.Changed = f.changed
	}
	return p
}

// change changes the progress, and the reason of Lookup with it.
func (f *filling) change(p resources.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress, f.Missing = p, resources.NotInSync
	if p.Synced {
		f.Missing = ""
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// exclude makes the resource one that is never cached.
func (f *filling) exclude() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Missing = resources.Excluded
}

const fooPath = "/apis/ex.io/v1/foos"

// The patience of lists, and of pages and lists of one namespace.
const fillPatience, pagePatience = 2 * time.Second, 250 * time.Millisecond

func TestReadWaitsForAStoreThatIsBeingFilled(t *testing.T) {
	for _, row := range []struct {
		name, url string
		progress  resources.Progress // from the beginning
		changes   resources.Progress // after 100 ms
		waits     time.Duration
		served    bool
	}{
		{"list", fooPath, resources.Progress{}, resources.Progress{Synced: true}, 100 * time.Millisecond, true},
		{"watch", fooPath + "?watch=1&timeoutSeconds=1", resources.Progress{}, resources.Progress{Synced: true}, 1100 * time.Millisecond, true},
		{"list of a slow fill", fooPath, resources.Progress{}, resources.Progress{}, fillPatience, false},
		{"page of a slow fill", fooPath + "?limit=1", resources.Progress{}, resources.Progress{}, pagePatience, false},
		{"list of a namespace", "/apis/ex.io/v1/namespaces/ns/foos", resources.Progress{}, resources.Progress{}, pagePatience, false},
		{"get", fooPath[:len("/apis/ex.io/v1/")] + "namespaces/ns/foos/f000000?resourceVersion=0", resources.Progress{}, resources.Progress{}, 0, false},
		{"list of a fill that fails", fooPath, resources.Progress{}, resources.Progress{Failing: true}, 100 * time.Millisecond, false},
		{"list of a store that cannot be filled", fooPath, resources.Progress{Failing: true}, resources.Progress{}, 0, false},
		{"list of a store that was slow", fooPath, resources.Progress{LastFill: fillPatience + 1}, resources.Progress{}, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFilling(t)
				f.progress = row.progress
				time.AfterFunc(100*time.Millisecond, func() { f.change(row.changes) })
				start := time.Now()
				f.Do(&servetest.WatchClient{}, f.Request(row.url, nil))
				if waited := time.Since(start); waited != row.waits {
					t.Errorf("waits %v, want %v", waited, row.waits)
				}
				if served := f.Passed == nil; served != row.served {
					t.Errorf("served: %v", served)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// passed is a watch that the apiserver has accepted.
type passed struct {
	*request.PassedWatch
	after time.Duration // when it was ended; 0 while it is open
}

// pass lets a watch pass.
func (f *filling) pass(url string) *passed { return f.passRequest(f.Request(url, nil)) }

func (f *filling) passRequest(r *http.Request) *passed {
	got := make(chan *passed, 1)
	f.handler.options.Next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		start := time.Now()
		p := &passed{PassedWatch: request.From(r.Context()).PassedWatch}
		p.Opened.Set()
		got <- p
		select {
		case <-p.Ended.Done():
			p.after = time.Since(start)
		case <-r.Context().Done():
		}
	})
	go f.Do(&servetest.WatchClient{}, r)
	p := <-got
	synctest.Wait()
	return p
}

// endsWithin lets time pass and reports whether the watch has ended then.
func (p *passed) endsWithin(d time.Duration) bool {
	time.Sleep(d)
	synctest.Wait()
	return p.after > 0
}

// Otherwise a watch that met a store on its way would stay upstream for its whole life.
func TestPassedWatchEndsOnceTheCacheMayServeIt(t *testing.T) {
	const settled = watch.Shortest + comeBackSpread
	synced := func(f *filling, _ *passed) { f.change(resources.Progress{Synced: true}) }
	resume := func(_ *filling, p *passed) { p.Resumable.Set() }
	nothing := func(*filling, *passed) {}
	for _, row := range []struct {
		name, query string
		missing     string
		steps       []func(*filling, *passed) // the last one makes it end, if ends
		ends        bool
	}{
		{"in sync", "resourceVersion=3", resources.NotInSync, []func(*filling, *passed){nothing, synced}, true},
		{"not in sync", "resourceVersion=3", resources.NotInSync, []func(*filling, *passed){resume, nothing}, false},
		{"streaming list", servetest.Streaming, resources.NotInSync, []func(*filling, *passed){synced, resume}, true},
		{"initial events without an end", "resourceVersion=0", resources.NotInSync, []func(*filling, *passed){synced, resume}, false},
		{"before the history", "resourceVersion=1", "", []func(*filling, *passed){nothing, resume}, true},
		{"excluded", "resourceVersion=3", resources.Excluded, []func(*filling, *passed){synced, resume}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFilling(t)
				f.Missing, f.progress.Failing = row.missing, row.missing == resources.NotInSync
				p := f.pass(fooPath + "?watch=1&" + row.query)
				for i, step := range row.steps {
					step(f, p)
					want := row.ends && i == len(row.steps)-1
					if ended := p.endsWithin(settled); ended != want {
						t.Errorf("ended after step %d: %v", i, ended)
					}
				}
				close(f.Draining)
				if !p.endsWithin(settled + 5*time.Second) {
					t.Error("does not end when the gateway drains")
				}
			})
		})
	}
}

// A controller that watches many kinds meets each of them in a state that may last for seconds: its rights are newer than
// what the authorizer knows, discovery does not name a new kind yet, the store has been given up.
func TestPassedWatchIsTriedAgain(t *testing.T) {
	reviews := errors.New("no answer")
	synced := func(f *filling) { f.change(resources.Progress{Synced: true}) }
	allow := func(f *filling) { f.Access.Allow() }
	for _, row := range []struct {
		name   string
		fails  func(*filling) // before the watch
		mended func(*filling)
	}{
		{"not allowed", func(f *filling) { f.Missing, f.Access.Allowed = "", false }, allow},
		{"not reviewed", func(f *filling) { f.Missing, f.Access.Failed = "", reviews }, allow},
		{"not cacheable", func(f *filling) { f.Missing = resources.NotCacheable }, synced},
		{"too large", func(f *filling) { f.Missing = resources.StoresTooLarge }, synced},
		{"not running", func(f *filling) { f.Missing = resources.NotRunning }, synced},
		{"given up", func(f *filling) { f.none, f.progress.Failing = true, true }, synced},
	} {
		for _, query := range []string{"resourceVersion=3", servetest.Streaming} {
			t.Run(row.name+" "+query, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFilling(t)
					row.fails(f)
					p := f.pass(fooPath + "?watch=1&" + query)
					if p.endsWithin(time.Hour) {
						t.Fatal("ended")
					}
					row.mended(f)
					if p.InitialEvents {
						if p.endsWithin(rarestTry + watch.Shortest + comeBackSpread) {
							t.Fatal("ended among its initial events")
						}
						p.Resumable.Set()
					}
					if !p.endsWithin(rarestTry + watch.Shortest + comeBackSpread) {
						t.Error("goes on passing")
					}
				})
			})
		}
	}
}

// Otherwise the watches of callers whose tokens could not be reviewed would stay upstream for their whole life.
func TestPassedWatchEndsOnceItsTokenCanBeReviewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilling(t)
		f.Missing = ""
		r := f.Request(fooPath+"?watch=1&resourceVersion=3", nil)
		info, answers := request.From(r.Context()), new(atomic.Bool)
		info.User, info.ReviewAgain = "", func(context.Context) bool { return answers.Load() }
		p := f.passRequest(r)
		if p.endsWithin(time.Minute) {
			t.Error("ended although its client would pass again")
		}
		answers.Store(true)
		if !p.endsWithin(time.Minute * 2) {
			t.Error("goes on passing")
		}
	})
}

// The apiserver itself has reviewed the access to a watch that it accepts.
func TestAcceptedWatchNeedsNoReview(t *testing.T) {
	for _, tt := range []struct {
		missing string
		allowed bool
		failed  error
		learns  bool
	}{
		{failed: errors.New("too many reviews"), learns: true},
		{}, // a denial stands
		{missing: resources.NotCacheable, allowed: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFilling(t)
			f.Missing, f.Access.Allowed, f.Access.Failed = tt.missing, tt.allowed, tt.failed
			f.pass(fooPath + "?watch=1&resourceVersion=3")
			f.Access.Mu.Lock()
			defer f.Access.Mu.Unlock()
			if f.Access.Learned != tt.learns {
				t.Errorf("%+v: learned: %v", tt, f.Access.Learned)
			}
		})
	}
}

// What stays need not be asked again and again, and what has become clear least of all.
func TestPassedWatchIsTriedAgainEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilling(t)
		f.Missing = resources.NotCacheable
		p := f.pass(fooPath + "?watch=1&resourceVersion=3")
		if p.endsWithin(10 * time.Hour); len(f.Readers) > 10+int(10*time.Hour/(rarestTry/2)) {
			t.Errorf("%d tries", len(f.Readers))
		}
		f.exclude()
		before := f.looks.Load()
		if p.endsWithin(rarestTry); f.looks.Load() == before {
			t.Fatal("not tried")
		}
		before = f.looks.Load()
		if p.endsWithin(time.Hour) || f.looks.Load() > before {
			t.Error("an excluded resource is tried again")
		}
		close(f.Draining)
		if !p.endsWithin(10 * time.Second) {
			t.Error("does not end when the gateway drains")
		}
	})
}

// client-go lists again after a watch that ends without an event within a second.
func TestPassedWatchIsNotEndedBeforeItIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			f := newFilling(t)
			f.handler.options.Spread = func() time.Duration { return 0 }
			p := f.pass(fooPath + "?watch=1&resourceVersion=3")
			close(f.Draining)
			if !p.endsWithin(time.Minute) || p.after < watch.Shortest {
				t.Errorf("ended after %v", p.after)
			}
		}
	})
}

// An extension server may accept any name. A label that is not UTF-8 would end the process.
func TestPassedWatchOfANameThatIsNotUTF8IsCounted(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/apis/ex.io/v1/%ff?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	NewMetrics(nil).passed(info, "format").Inc()
}
