package priority

import (
	"sync"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// demand tells the library how many seats a level could use, by which the library lends seats among levels:
// the seats of the requests in its queues, which it sets, and of those that wait in front of them.
type demand struct {
	metrics.Gauge

	mu              sync.Mutex
	queues, inFront float64
}

// Set implements metrics.Gauge.
func (d *demand) Set(seats float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues = seats
	d.Gauge.Set(d.queues + d.inFront)
}

// addInFront changes how many seats the requests in front could use.
func (d *demand) addInFront(seats int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inFront += float64(seats)
	d.Gauge.Set(d.queues + d.inFront)
}
