package pressure

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// An apiserver that refuses everything is asked as often as its Retry-After permits, two seconds here, and
// clients have the answers of the cache as soon as it answers again.
func TestAnApiserverThatRefusesIsNotAskedInALoop(t *testing.T) {
	const clients, refusals = 20, 5 * time.Second
	path := createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			r.WaitForCacheSync(t, configMaps, "configmaps.v1")
			readAll(t, r, 1, 0, "")
			object := fmt.Sprintf("during-%d", status)
			began := time.Now()
			r.counts()
			r.set(func() { r.refuse = status })
			version := write(t, path, object)
			var g errgroup.Group
			g.Go(func() error {
				time.Sleep(refusals)
				refused := r.counts()
				r.set(func() { r.refuse = 0 })
				t.Logf("while refusing: %v", refused)
				if took := time.Since(began).Seconds(); float64(refused.asked) > 2*took || float64(refused.own) > 10*took {
					return fmt.Errorf("within %v s Sluice asks %d times for the resource and %d times in all", took, refused.asked, refused.own)
				}
				return nil
			})
			a := readAll(t, r, clients, version, object)
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			c := r.counts()
			t.Logf("afterwards: %v; %v", c, a)
			if c.passed.peak > 3 {
				t.Errorf("%+v passed", c.passed)
			}
			if c.listed.requests > 3 {
				t.Errorf("Sluice lists %+v", c.listed)
			}
		})
	}
}
