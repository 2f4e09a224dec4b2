package auth

import (
	"container/list"
	"crypto/sha256"
	"time"
)

// digest identifies the subject of a review. It has the same length for all.
type digest [sha256.Size]byte

// result is the result of a review.
type result[V any] struct {
	value    V
	positive bool // whether the review verified or allowed
	// lasting reports whether reads of any version can use the result while the review cannot be repeated.
	lasting bool
	bytes   int // of memory, without entryBytes
	ttl     time.Duration
	err     error     // of a review that failed when the result could no longer be used; nil otherwise
	expires time.Time // when it must be reviewed again
	until   time.Time // when it can no longer be used although that fails
}

// at returns the result as of a review at a time.
func (v result[V]) at(now time.Time) result[V] {
	v.expires = now.Add(v.ttl)
	v.until = v.expires.Add(v.ttl)
	return v
}

// postponed returns the result after a review that failed at a time: it, or the error, counts for a moment.
func (v result[V]) postponed(now time.Time, err error) result[V] {
	v.expires = now.Add(failedPause)
	switch {
	case !now.Before(v.until):
		v.err = err
	case v.expires.After(v.until):
		v.expires = v.until
	}
	return v
}

// usable reports whether the result can be used although the review cannot be repeated: a positive one for one more TTL, and a
// lasting one by reads of any version for staleFor after it has expired.
func (v result[V]) usable(now time.Time, staleFor time.Duration) bool {
	return v.positive && now.Before(v.until) || v.lasting && now.Before(v.until.Add(staleFor-v.ttl))
}

// get returns the value, or the error if it cannot be used.
func (v result[V]) get(now time.Time, staleFor time.Duration) (V, error) {
	if v.err != nil && !v.usable(now, staleFor) {
		var none V
		return none, v.err
	}
	return v.value, nil
}

// entryBytes is about the memory of an entry of results without its value.
const entryBytes = 304

// results keeps the results of reviews within a number of bytes. It evicts the least recently used
// ones. It is not safe for concurrent use.
type results[V any] struct {
	limit, used int
	entries     map[digest]*list.Element // of *entry[V]
	recent      *list.List               // most recently used first
}

type entry[V any] struct {
	key    digest
	result result[V]
}

func newResults[V any](limit int) *results[V] {
	return &results[V]{limit: limit, entries: map[digest]*list.Element{}, recent: list.New()}
}

// get returns the result for a key, which may have expired.
func (r *results[V]) get(key digest) (result[V], bool) {
	e, ok := r.entries[key]
	if !ok {
		return result[V]{}, false
	}
	r.recent.MoveToFront(e)
	return e.Value.(*entry[V]).result, true
}

func (r *results[V]) put(key digest, v result[V]) {
	r.delete(key)
	r.used += v.bytes + entryBytes
	r.entries[key] = r.recent.PushFront(&entry[V]{key, v})
	for r.used > r.limit {
		r.delete(r.recent.Back().Value.(*entry[V]).key)
	}
}

// makeRoom evicts expired results until there is room for one of so many bytes. It returns false if there
// is none.
func (r *results[V]) makeRoom(now time.Time, bytes int) bool {
	for r.used+bytes > r.limit {
		last := r.recent.Back()
		if last == nil || now.Before(last.Value.(*entry[V]).result.expires) {
			return false
		}
		r.delete(last.Value.(*entry[V]).key)
	}
	return true
}

func (r *results[V]) delete(key digest) {
	if e, ok := r.entries[key]; ok {
		r.used -= e.Value.(*entry[V]).result.bytes + entryBytes
		r.recent.Remove(e)
		delete(r.entries, key)
	}
}
