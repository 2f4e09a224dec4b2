package auth

import (
	"context"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"sluice/proxy/flowcontrol"
)

const (
	// DefaultRejectedTokens is how many rejected tokens an address may present per second.
	DefaultRejectedTokens = 10
	// rejectedBurst is how many it may present at once, as a multiple of those per second.
	rejectedBurst = 5
	// quotaAddresses is how many addresses are remembered, the most recent ones.
	quotaAddresses = 10000
)

// quota limits the reviews of unknown tokens per address: while an address has presented too many
// rejected tokens, they run one at a time. Only rejected tokens count, so that many users behind one
// address do not disturb each other, and tokens that are known to be valid are not limited.
type quota struct {
	perSecond int
	limiters  *lru.Cache // of *rate.Limiter by request.AddressKey
	turns     *flowcontrol.Turns
}

func newQuota(perSecond int) *quota {
	if perSecond == 0 {
		perSecond = DefaultRejectedTokens
	}
	return &quota{perSecond, lru.New(quotaAddresses), flowcontrol.NewTurns(1)}
}

// of returns the limit for an address.
func (q *quota) of(address string) limit {
	return limit{
		applies: func() bool { return q.exhausted(address) },
		enter:   func(ctx context.Context) (func(), error) { return q.turns.Enter(ctx, address) },
	}
}

// exhausted reports whether an address has presented too many rejected tokens.
func (q *quota) exhausted(address string) bool {
	l, ok := q.limiters.Get(address)
	return ok && l.(*rate.Limiter).Tokens() < 1
}

// rejected counts a rejected token.
func (q *quota) rejected(address string) {
	l, ok := q.limiters.Get(address)
	if !ok {
		l = rate.NewLimiter(rate.Limit(q.perSecond), q.perSecond*rejectedBurst)
		q.limiters.Add(address, l)
	}
	l.(*rate.Limiter).Allow()
}
