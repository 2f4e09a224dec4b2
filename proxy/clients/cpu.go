package clients

import (
	"syscall"
	"time"
)

// What Sluice itself spends on a request. Go measures no goroutine, so these are weights: see settle. Measured are those of
// events of plain watches (docs/performance.md) and of bytes of lists from the cache (docs/performance/lists.json: 82 ms for
// 75.7 MB of plain JSON, 7.6 ms for 4.2 MB in gzip). The others are chosen, and no measurement has confirmed them.
const (
	herePerEvent      = 21 * time.Microsecond
	herePerPlain      = 81.7e6 / 75.7e6 // nanoseconds for each byte that is sent
	herePerCompressed = 7.6e6 / 4.24e6

	herePerRequest = 150 * time.Microsecond // chosen
	timesPassed    = 2                      // chosen: what passes is read before it is written
	// mostPerWeight bounds how dear a weight is: a single request does not explain what Sluice does by itself meanwhile. It
	// is chosen.
	mostPerWeight = 4
)

// here returns the weight of a part of a request.
func (u *Use) here() time.Duration {
	each := herePerPlain
	if u.Compressed {
		each = herePerCompressed
	}
	if u.Outcome == Passed {
		each *= timesPassed
	}
	bytes := u.Sent
	if u.Verb == Watch && u.Outcome == Served && !u.Compressed { // of events, which have a weight of their own
		bytes = min(u.Sent, u.Listed)
	}
	d := time.Duration(each*float64(bytes)) + time.Duration(u.Events)*herePerEvent
	if u.Ended {
		d += herePerRequest
	}
	return d
}

// cpu is what Sluice spends on a client.
type cpu struct {
	spent        time.Duration
	weight, next time.Duration // that have no part of the CPU time yet; next are those since settle has begun
}

func (c *cpu) plus(d *cpu) {
	c.spent += d.spent
	c.weight += d.weight
	c.next += d.next
}

// settle attributes to the clients what the process has used since the last time, by the weights of what they have asked for
// meanwhile. So what all clients and Sluice itself have spent is what the process has used.
func (t *Table) settle(used time.Duration) {
	weight := time.Duration(0)
	t.eachCPU(func(c *cpu, _ *row) {
		c.weight, c.next = c.weight+c.next, 0
		weight += c.weight
	})
	each := min(float64(used)/max(float64(weight), 1), mostPerWeight)
	now, given := t.now(), time.Duration(0)
	t.eachCPU(func(c *cpu, r *row) {
		d := time.Duration(float64(c.weight) * each)
		c.spent, c.weight = c.spent+d, 0
		given += d
		if r != nil && d > 0 {
			r.minute(now).cpu += float32(d.Seconds())
		}
	})
	t.own.Add(int64(used - given))
}

// eachCPU calls do for each row, and without one for everything else of each shard.
func (t *Table) eachCPU(do func(*cpu, *row)) {
	t.each(func(s *shard) {
		do(&s.rest.cpu, nil)
		for _, r := range s.rows {
			do(&r.cpu, r)
		}
	})
}

// processCPU returns the CPU time that the process has used.
func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
