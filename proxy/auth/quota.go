package auth

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"sluice/proxy/accounts"
)

const (
	// rejectedTokens is how many rejected tokens an address may present per second before its unknown
	// tokens wait among those of all such addresses, and rejectedBurst how many at once.
	rejectedTokens = 10
	rejectedBurst  = 50
	// rejectedDebt is how many rejected tokens beyond that count at most: ten seconds later all are forgiven.
	rejectedDebt = 10 * rejectedTokens
	// rejectedAtOnce is how many tokens of all such addresses are reviewed at once.
	rejectedAtOnce = 4
	// restFactor is how many times as long as the review of another rejected token of theirs the next one waits, so
	// that all of them keep the apiserver busy for a fifth of one processor, and maxRest how long at most: of reviews
	// above 13 ms, as of a slow webhook, they may take more, since good tokens of these addresses wait too. A turn rests
	// for maxRest after a review whose callers have gone: what it has cost is not known.
	restFactor = 19
	maxRest    = 250 * time.Millisecond
	// quotaAddresses is how many addresses are remembered, the most recent ones.
	quotaAddresses = 10000
)

// rejectedGroup is the group in which tokens wait from addresses with too many rejected ones.
const rejectedGroup = "rejected tokens"

// quota remembers which addresses present many rejected tokens. Only rejected tokens count, so that many
// users behind one address do not disturb each other, and tokens that are known to be valid do not wait.
type quota struct {
	limiters *lru.Cache // of *rate.Limiter by request.AddressKey
}

func newQuota() *quota { return &quota{lru.New(quotaAddresses)} }

// key returns in whose name an unknown token from an address waits, and how many of them are reviewed at
// once; 0 for no bound of their own.
func (q *quota) key(address string) (accounts.Key, int64) {
	if l, ok := q.limiters.Get(address); ok && l.(*rate.Limiter).Tokens() < 1 {
		return accounts.Key{Group: rejectedGroup, Name: address}, rejectedAtOnce
	}
	return accounts.ByAddress(address), 0
}

// rejected counts a rejected token.
func (q *quota) rejected(address string) {
	l, ok := q.limiters.Get(address)
	if !ok {
		l = rate.NewLimiter(rejectedTokens, rejectedBurst)
		q.limiters.Add(address, l)
	}
	if limiter := l.(*rate.Limiter); limiter.Tokens() > -rejectedDebt {
		limiter.Reserve()
	}
}
