package pressure

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/test/harness"
)

// Something between Sluice and the apiserver ends long responses, so that no streaming list is complete. The
// pages of a list are short enough.
func TestAStoreFillsThoughEveryStreamingListIsCutShort(t *testing.T) {
	createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	r.set(func() { r.cutStreams = true })
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	c := r.counts()
	t.Logf("%v", c)
	if cut := len(r.cutTimes()); cut != 2 || c.listed.requests != cut+listPages {
		t.Errorf("%d lists are cut; %v", cut, c)
	}
}

// No list of Sluice's own is complete. It tries ever more rarely, readers pass within the budget, and the store
// fills once the fault ends.
func TestListsThatAreCutShortAreNotRepeatedInALoop(t *testing.T) {
	const attempts = 6
	createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	r.set(func() { r.cutStreams, r.cutPages = true, true })
	r.awaitCuts(t, 2) // so that the first is reported
	r.counts()
	a := readAll(t, r, 8, 0, "c00000")
	r.awaitCuts(t, attempts)
	c := r.counts()
	t.Logf("%v; %v", c, a)
	at, delay := r.cutTimes(), 200*time.Millisecond
	for i := range attempts - 1 {
		if since := at[i+1].Sub(at[i]); since < delay {
			t.Errorf("attempt %d follows after %v, want %v at least", i+2, since, delay)
		}
		delay *= 2
	}
	if c.passed.peak > 3 || len(a.served) == 0 {
		t.Errorf("%v; %v", c, a)
	}
	r.set(func() { r.cutStreams, r.cutPages = false, false })
	harness.Eventually(t, "the cache serves", func() error { return readAll(t, r, 1, 0, "c00000").onlyServed() })
}

// awaitCuts waits until so many lists of Sluice's own are cut short.
func (r *relay) awaitCuts(t *testing.T, n int) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%d lists are cut short", n), func() error {
		cut := len(r.cutTimes())
		if cut >= n {
			return nil
		}
		_, err := r.Raw("admin").Get(t.Context(), configMaps+"?limit=1", "application/json") // wants the store
		return errors.Join(err, fmt.Errorf("%d are", cut))
	})
}
