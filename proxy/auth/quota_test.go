package auth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/accounts"
)

// Many users may share the address of one that has sent a wrong token a million times.
func TestAnAddressIsForgivenTenSecondsAfterItsLastRejectedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuota()
		for range 100 * rejectedDebt {
			q.rejected("a")
		}
		rests := func() bool { return q.exceeded("a") }
		time.Sleep(9 * time.Second)
		if !rests() {
			t.Error("it is forgiven at once")
		}
		if time.Sleep(2 * time.Second); rests() {
			t.Error("it is not forgiven")
		}
	})
}

func TestGoodTokensAreNotCountedAsRejected(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		for i := range 2 * rejectedBurst {
			name := fmt.Sprint("good", i)
			reviews.tokens[name] = verified("jane")
			r := newRequest("/api/v1/pods", token(name))
			r.RemoteAddr = "192.0.2.9:1"
			authenticate(t, access.Authenticator, r)
		}
		if access.Authenticator.tokens.quota.exceeded(accounts.ByAddress("192.0.2.9").Group) {
			t.Error("the next token of the address waits among rejected ones")
		}
	})
}
