package clients

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The bounds of a Table. 2,048 rows take less than 4 MiB.
const (
	numShards    = 8
	rowsOfShard  = 256
	rowsOfUser   = 128
	rowsUnnamed  = 64 // of all callers that are not authenticated
	forgetEvery  = 10 * time.Minute
	watchesEvery = 5 * time.Second
)

// A Table counts the costs of clients. It is safe for concurrent use.
type Table struct {
	start  time.Time
	seed   maphash.Seed
	turn   atomic.Uint32 // see Turn
	shards [numShards]shard
	top    top
}

// shard has the rows of some of the users.
type shard struct {
	mu      sync.Mutex // guards the fields below
	rows    map[Key]*row
	ofUser  map[string]int
	rest    counts // of rows that have made room
	halved  time.Duration
	watches map[*OpenWatch]struct{}
}

// NewTable returns an empty Table.
func NewTable() *Table {
	t := &Table{start: time.Now(), seed: maphash.MakeSeed()}
	for i := range t.shards {
		s := &t.shards[i]
		s.rows, s.ofUser, s.watches = map[Key]*row{}, map[string]int{}, map[*OpenWatch]struct{}{}
	}
	return t
}

// Run lets open watches be counted every few seconds until ctx ends. It always returns nil.
func (t *Table) Run(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(context.Context) { t.NextTurn() }, watchesEvery)
	return nil
}

// NextTurn begins a turn.
func (t *Table) NextTurn() { t.turn.Add(1) }

// Turn changes every few seconds: then the writer of a watch adds its counts.
func (t *Table) Turn() uint32 { return t.turn.Load() }

// now is never 0, which stands for never.
func (t *Table) now() time.Duration { return max(time.Since(t.start), 1) }

func (t *Table) shard(user string) *shard { return &t.shards[maphash.String(t.seed, user)%numShards] }

// Add counts a request, or a part of a watch. It returns its price at the apiserver.
func (t *Table) Add(u *Use) time.Duration {
	k, now, worth := u.bounded(), t.now(), u.worth()
	s := t.shard(k.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row(k, now).add(u, worth, now)
	return worth
}

// row returns the row of a key. The caller must hold mu.
func (s *shard) row(k Key, now time.Duration) *row {
	r := s.rows[k]
	if r != nil {
		return r
	}
	if now-s.halved > forgetEvery {
		for _, r := range s.rows {
			r.weight >>= min((now-s.halved)/forgetEvery, 32)
		}
		s.halved = now
	}
	r = &row{Key: k.cloned(), since: now, weight: s.makeRoom(k.User)}
	s.rows[r.Key] = r
	s.ofUser[r.User]++
	return r
}

// makeRoom removes the lightest row, if there is no room for another one of a user: of this user, if it has as many as a user may
// have. Rows with open watches stay while at least half of the rows have none: watches push no heavy client out. It returns the
// weight of the row, which its successor starts with: a row that comes once cannot remove one that comes often.
func (s *shard) makeRoom(user string) time.Duration {
	most := rowsOfUser
	if user == "" {
		most = rowsUnnamed
	}
	own := s.ofUser[user] >= most
	if !own && len(s.rows) < rowsOfShard {
		return 0
	}
	var out, idle *row // the lightest, and the lightest without open watches
	all, idles := 0, 0
	for _, r := range s.rows {
		if own && r.User != user {
			continue
		}
		all++
		out = lighter(out, r)
		if r.open == 0 {
			idles++
			idle = lighter(idle, r)
		}
	}
	if 2*idles >= all {
		out = idle
	}
	s.rest.plus(&out.counts)
	delete(s.rows, out.Key)
	if s.ofUser[out.User]--; s.ofUser[out.User] == 0 {
		delete(s.ofUser, out.User)
	}
	return out.weight
}

// lighter returns the lighter one of two rows, the first of which may be nil.
func lighter(a, b *row) *row {
	if a == nil || b.weight < a.weight {
		return b
	}
	return a
}

// each calls do for each shard, while its mutex is held.
func (t *Table) each(do func(*shard)) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		do(s)
		s.mu.Unlock()
	}
}

// id names the user and agent of a row, for a URL. It tells nothing of them, and is another one after a restart.
func (t *Table) id(k Key) string {
	return strconv.FormatUint(maphash.Comparable(t.seed, [2]string{k.User, k.Agent}), 36)
}
