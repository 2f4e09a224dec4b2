package watch

import (
	"bytes"
	"net/http/httptest"
	"testing"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/codec/splice"
	"sluice/proxy/request"
	"sluice/proxy/serve/body"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

// head returns the head of a watch that sets no headers.
func head() fresh.Head {
	return fresh.Head{Plan: &plan.Plan{Query: plan.Query{Info: new(request.Info), Verb: negotiate.Watch}}}
}

func TestEventsOfTablesHaveTheAgesOfTheirTime(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		c := servetest.AgingFoos(t, 3, func(int) time.Duration { return 95 * time.Second })
		skew := time.Duration(0)
		c.Now = func() time.Time { return time.Now().Add(skew) }
		encoder, err := encode.FormatFor(c, codec.Format{Shape: codec.Table})
		if err != nil {
			t.Fatal(err)
		}
		modified := servetest.AgingFoo(1, 4, time.Now().Add(-95*time.Second))
		e := servetest.EventOf(t, c, cache.Modified, modified)
		for _, d := range []time.Duration{0, time.Second - 1, 1, 10 * time.Second, time.Hour} {
			time.Sleep(d)
			skew += time.Minute
			for _, kind := range []cache.Type{cache.Modified, cache.Added, cache.Deleted} {
				o := modified
				if kind == cache.Deleted { // from a selection, to which the object before belonged
					if o, err = encoder.DeletedFromSelection(e.Previous, 4); err != nil {
						t.Fatal(err)
					}
				}
				want, err := encoder.AppendEvent(nil, kind, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, coding := range []splice.Coding{splice.Identity, splice.Gzip, splice.Zstd} {
					w := httptest.NewRecorder()
					out := body.New(w, head(), nil, coding, 0)
					if err := out.Start(true); err != nil {
						t.Fatal(err)
					}
					if err := encoder.WriteAged(nil, e, kind, out.Write); err != nil {
						t.Fatal(err)
					}
					out.End()
					if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
						t.Errorf("%v %v later in %v: got %s, want %s", kind, d, coding, got, want)
					}
				}
			}
		}
	})
}
