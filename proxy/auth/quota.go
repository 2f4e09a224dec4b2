package auth

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

const (
	// rejectedTokens is how many rejected tokens a group may present per second before its unknown
	// tokens wait among those of all such groups, and rejectedBurst how many at once.
	rejectedTokens = 10
	rejectedBurst  = 50
	// rejectedDebt is how many rejected tokens beyond that count at most: ten seconds later all are forgiven.
	rejectedDebt = 10 * rejectedTokens
	// rejectedAtOnce is how many tokens of all such groups are reviewed at once.
	rejectedAtOnce = 4
	// restFactor is how many times as long as the review of another rejected token of theirs the next one waits, so
	// that all of them keep the apiserver busy for a fifth of one processor, and maxRest how long at most: of reviews
	// above 13 ms, as of a slow webhook, they may take more, since good tokens of these groups wait too. A turn rests
	// for maxRest after a review whose callers have gone: its cost is not known.
	restFactor = 19
	maxRest    = 250 * time.Millisecond
	// quotaGroups is how many groups are remembered, the most recent ones.
	quotaGroups = 10000
)

// quota remembers which groups, addresses or those of users, present many rejected tokens. Only these count, and those whose
// callers hang up before the answer, so that many users behind one address do not disturb each other, and tokens that are known
// to be valid do not wait.
type quota struct {
	limiters *lru.Cache // of *rate.Limiter by accounts.Key.Group
}

func newQuota() *quota { return &quota{lru.New(quotaGroups)} }

// exceeded reports whether a group has presented too many rejected tokens.
func (q *quota) exceeded(group string) bool {
	l, ok := q.limiters.Get(group)
	return ok && l.(*rate.Limiter).Tokens() < 1
}

// rejected counts a rejected token.
func (q *quota) rejected(group string) {
	l, ok := q.limiters.Get(group)
	if !ok {
		l = rate.NewLimiter(rejectedTokens, rejectedBurst)
		q.limiters.Add(group, l)
	}
	if limiter := l.(*rate.Limiter); limiter.Tokens() > -rejectedDebt {
		limiter.Reserve()
	}
}
