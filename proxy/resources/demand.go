package resources

import (
	"math"
	"sync"
	"time"
)

// Reader is a user that reads a resource. The caller of Lookup must have authorized the read.
type Reader struct {
	User string
	// Whole reports whether the reader may read, and reads, the whole resource: in all namespaces,
	// without a name or selectors. Others may perhaps read a small part of a store.
	Whole bool
}

const (
	// maxReaders is how many readers of a resource are remembered.
	maxReaders = 64
	// partWorth is the weight of a reader of a part beside one of the whole resource.
	partWorth = 1.0 / 16
	// maxDivided is the number of resources by which the worth of a reader of whole resources is divided at
	// most, so that a reader of a part is never worth more.
	maxDivided = 8
	// halfLife is the time without a read in which a reader comes to count half. A watch is opened anew
	// about as often.
	halfLife = 10 * time.Minute
)

// demand is the readers of a resource, whose weights add up to the worth of its store.
type demand struct {
	mu      sync.Mutex // guards the fields below
	readers map[string]use
	bytes   int64     // what the store took that was stopped for want of memory, or may take if it was not filled
	stopped time.Time // when that was
}

// use is the use of a resource by one reader.
type use struct {
	last  time.Time
	whole bool // some read was of the whole resource
}

// note remembers a read.
func (d *demand) note(reader Reader, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, known := d.readers[reader.User]
	if !known && len(d.readers) >= maxReaders && !d.replace(reader, now) {
		return
	}
	if d.readers == nil {
		d.readers = map[string]use{}
	}
	d.readers[reader.User] = use{now, u.whole || reader.Whole}
}

// replace forgets a reader that counts less than another. The caller must hold mu.
func (d *demand) replace(reader Reader, now time.Time) bool {
	const recent = time.Minute
	for user, u := range d.readers {
		if now.Sub(u.last) > recent || reader.Whole && !u.whole {
			delete(d.readers, user)
			return true
		}
	}
	return false
}

// reading is the use of a resource by one reader at a moment.
type reading struct {
	user  string
	whole bool
	part  float64 // 1 if it is in use now, less if it was
}

// readings returns the readers. Those of a store with open watches are in use: a watch may stay open for
// longer than halfLife.
func (d *demand) readings(now time.Time, watched bool) []reading {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]reading, 0, len(d.readers))
	for user, u := range d.readers {
		part := math.Exp2(-float64(now.Sub(u.last)) / float64(halfLife))
		if watched {
			part = max(part, 0.5)
		}
		all = append(all, reading{user, u.whole, min(part, 1)})
	}
	return all
}

// worth returns the weight of a reader of n resources for each of them.
func (r reading) worth(resources float64) float64 {
	if r.whole {
		return r.part / min(max(resources, 1), maxDivided)
	}
	return r.part * partWorth / max(resources, 1)
}

// urgency returns the worth of a fill for these readers, given how many fills run for each user, and whether
// it is for nobody but one reader of a part.
func (d *demand) urgency(running map[string]int) (worth float64, sole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for user, u := range d.readers {
		r := reading{user, u.whole, 1}
		worth += r.worth(1) / float64(1+running[user])
		sole = len(d.readers) == 1 && !u.whole
	}
	return worth, sole
}

// remember keeps how large the store is that is stopped for want of memory.
func (d *demand) remember(bytes int64, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes, d.stopped = bytes, now
}

// before returns how large the store was that was lately stopped for want of memory; 0 if none was.
func (d *demand) before(now time.Time) (bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.stopped) >= stoppedLately {
		return 0
	}
	return d.bytes
}

// forgotten reports whether nobody has read the resource for a time.
func (d *demand) forgotten(now time.Time, idle time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.readers {
		if now.Sub(u.last) <= idle {
			return false
		}
	}
	return true
}
