package auth

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/limits"
)

// Who was rejected may be known by now, so that only a review can say that it is not.
func TestNegativeResultsEndWithTheirTTL(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		if _, err := access.Authenticator.authenticateToken(newRequest("/api/v1/pods", token("a"))); unavailable(err) {
			t.Fatal(err)
		}
		reviews.breakWith(faults["closes the connection"])
		time.Sleep(tokenTTL)
		if _, err := access.Authenticator.authenticateToken(newRequest("/api/v1/pods", token("a"))); !unavailable(err) {
			t.Errorf("rejected without a review: %v", err)
		}
	})
}

// The review that follows may know of a change since.
func TestAnswerToACanceledReviewIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, key := newReviews[int](limits.NewQueue(4, 1), NewMetrics(nil).reviews("token"), 0), digest{1}
		by := asker{caller: limits.ByAddress("192.0.2.1:1")}
		answers := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		get := func(ctx context.Context, i int) (int, error) {
			return r.get(ctx, key, by, func(context.Context) (result[int], error) {
				<-answers[i]
				return result[int]{value: i, positive: true, ttl: time.Minute}, nil
			})
		}
		var first, second sync.WaitGroup
		ctx, leave := context.WithCancel(t.Context())
		first.Go(func() {
			if _, err := get(ctx, 0); !unavailable(err) {
				t.Errorf("a caller who has left: %v", err)
			}
		})
		synctest.Wait()
		leave()
		first.Wait()
		second.Go(func() {
			if got, err := get(t.Context(), 1); got != 1 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		})
		synctest.Wait()
		close(answers[0])
		synctest.Wait()
		if got, kept := r.recall(key); kept {
			t.Errorf("the answer %d is kept", got)
		}
		close(answers[1])
		second.Wait()
		if got, kept := r.recall(key); got != 1 || !kept {
			t.Errorf("the answer %d is kept: %v", got, kept)
		}
	})
}

// A DaemonSet on 10,000 nodes has a token for each pod: else each would be unknown again when it comes back.
func TestResultsHaveRoomForTheTokensOfACrowd(t *testing.T) {
	const tokens = 10_000
	r := newReviews[*authenticator.Response](limits.NewQueue(4, 1), NewMetrics(nil).reviews("token"), 1<<30)
	for i := range tokens {
		u := &user.DefaultInfo{
			Name: "system:serviceaccount:kube-system:log-agent", UID: "0b2e5b1c-5c9f-4c1c-9b0a-1f6b1f0f0f0f",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
			Extra:  map[string][]string{},
		}
		for _, key := range []string{"credential-id", "node-name", "node-uid", "pod-name", "pod-uid"} {
			u.Extra["authentication.kubernetes.io/"+key] = []string{u.UID}
		}
		v := result[*authenticator.Response]{value: &authenticator.Response{User: u}, positive: true, bytes: memoryOf(u), ttl: time.Hour}
		r.put(tokenDigest(fmt.Sprint(i)), v.at(time.Now()))
	}
	if kept := len(r.kept.entries); kept != tokens {
		t.Errorf("%d of %d tokens are known", kept, tokens)
	}
}
