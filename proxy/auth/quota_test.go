package auth

import (
	"testing"
	"testing/synctest"
	"time"
)

// Many users may share the address of one that has sent a wrong token a million times.
func TestAnAddressIsForgivenTenSecondsAfterItsLastRejectedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuota()
		for range 100 * rejectedDebt {
			q.rejected("a")
		}
		rests := func() bool { key, _ := q.key("a"); return key.Group == rejectedGroup }
		time.Sleep(9 * time.Second)
		if !rests() {
			t.Error("it is forgiven at once")
		}
		if time.Sleep(2 * time.Second); rests() {
			t.Error("it is not forgiven")
		}
	})
}
