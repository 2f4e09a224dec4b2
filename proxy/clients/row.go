package clients

import "time"

// counts are sums of requests.
type counts struct {
	requests              [numVerbs][numOutcomes]uint64
	sent                  uint64
	wouldCost, passedCost time.Duration // of the apiserver's CPU, of served and of passed requests
}

func (c *counts) plus(d *counts) {
	for v := range c.requests {
		for o := range c.requests[v] {
			c.requests[v][o] += d.requests[v][o]
		}
	}
	c.sent += d.sent
	c.wouldCost += d.wouldCost
	c.passedCost += d.passedCost
}

// reasons counts the most frequent reasons, out of a fixed set.
type reasons [3]struct {
	reason string
	n      uint32
}

func (r *reasons) add(reason string) {
	least := 0
	for i := range r {
		if r[i].reason == reason {
			r[i].n++
			return
		}
		if r[i].n < r[least].n {
			least = i
		}
	}
	r[least].reason = reason
	r[least].n++
}

// top returns the most frequent reason, empty without any.
func (r *reasons) top() string {
	most := 0
	for i := range r {
		if r[i].n > r[most].n {
			most = i
		}
	}
	return r[most].reason
}

// minutes is how many minutes a row remembers one by one, the present one included.
const minutes = 6

// minute has the counts of one minute.
type minute struct {
	number                int32 // since the Table exists
	lists                 uint32
	sent                  float32
	wouldCost, passedCost float32 // seconds
}

// row has the requests of one client for one resource. The mutex of its shard guards it.
type row struct {
	Key
	counts
	since   time.Duration // of the Table
	weight  time.Duration // of wouldCost and passedCost, and of the row that made room
	passed  reasons
	refused reasons
	recent  [minutes]minute
	open    int // watches that were opened since
	address string
}

func (r *row) add(u *Use, worth, now time.Duration) {
	r.address = u.Address
	m := r.minute(now)
	if u.Ended {
		r.requests[u.Verb][u.Outcome]++
		if u.Verb == List {
			m.lists++
		}
		switch u.Outcome {
		case Passed:
			if u.Verb != Watch { // whose reason was counted when it opened: it may stay open for hours
				r.passed.add(u.Reason)
			}
		case Refused:
			if u.Source == ByApiserver {
				u.Reason = RefusedByApiserver
			}
			r.refused.add(u.Reason)
		}
	}
	r.sent += uint64(u.Sent)
	m.sent += float32(u.Sent)
	cost := worth
	switch u.Source {
	case ByCache:
		r.wouldCost += cost
		m.wouldCost += float32(cost.Seconds())
	case ByApiserver:
		cost = min(worth, u.Took)
		r.passedCost += cost
		m.passedCost += float32(cost.Seconds())
	default:
		cost = 0
	}
	r.weight += cost + time.Microsecond
}

// minute returns the present minute.
func (r *row) minute(now time.Duration) *minute {
	n := int32(now / time.Minute)
	m := &r.recent[n%minutes]
	if m.number != n {
		*m = minute{number: n}
	}
	return m
}

// rates returns the rates of the last minutes. Those of a row of less than a minute are as if it were one: a single long list
// is no load.
func (r *row) rates(now time.Duration) Recent {
	n, sum := int32(now/time.Minute), minute{}
	for i := range r.recent {
		if m := &r.recent[i]; m.number > n-minutes {
			sum.lists += m.lists
			sum.sent += m.sent
			sum.wouldCost += m.wouldCost
			sum.passedCost += m.passedCost
		}
	}
	first := max(r.since, time.Duration(n-minutes+1)*time.Minute)
	over := max(now-first, time.Minute).Seconds()
	return Recent{
		Seconds: over, Lists: float64(sum.lists) / over,
		Sent: float64(sum.sent) / over, WouldCost: float64(sum.wouldCost) / over, Cost: float64(sum.passedCost) / over,
	}
}
