package serve

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
	"sluice/proxy/serve/plan"
)

var (
	somePods = schema.GroupVersionResource{Resource: "pods"}
	someFoos = schema.GroupVersionResource{Resource: "foos"}
	someBars = schema.GroupVersionResource{Resource: "bars"}
)

func TestPassBudgetGrantsWhatFits(t *testing.T) {
	const common, reserved = 600, 200 // parts of the total; a resource gets half of each
	type asked struct {
		claim
		room bool
	}
	pods := func(bytes int64) claim { return claim{resource: somePods, bytes: bytes} }
	foos := func(bytes int64) claim { return claim{resource: someFoos, bytes: bytes} }
	bars := func(bytes int64) claim { return claim{resource: someBars, bytes: bytes} }
	system := func(c claim) claim { c.system = true; return c }
	recovers := func(c claim) claim { c.recovers = true; return c }
	for _, row := range []struct {
		law  string
		asks []asked
	}{
		{"OneReadAlwaysFits", []asked{{pods(1e12), true}, {pods(1), false}}},
		{"AResourceGetsHalf", []asked{{pods(200), true}, {pods(100), true}, {pods(1), false}, {foos(300), true}}},
		{"AllResourcesGetTheWhole", []asked{{pods(300), true}, {foos(299), true}, {bars(2), false}}},
		{"SystemCallersGetTheRestBesides", []asked{{pods(300), true}, {system(pods(1000)), true}, {system(pods(1)), false}, {pods(1), false}}},
		{"SystemCallersGetWhatIsFreeFirst", []asked{{system(pods(200)), true}, {system(pods(100)), true}, {system(pods(100)), true}}},
		{"NoneOvertakes", []asked{{pods(200), true}, {pods(200), false}, {pods(1), false}, {foos(1), true}}},
		{"ALongOneTakesNoRoomWhileOthersRecover", []asked{{pods(200), true}, {recovers(pods(200)), false}, {pods(plan.SmallBytes + 1), false}}},
		{"AShortOneDoesNotWaitForOthersThatRecover", []asked{{pods(200), true}, {recovers(pods(200)), false}, {pods(100), true}}},
		{"OneThatRecoversTakesWhatIsFree", []asked{{recovers(pods(300)), true}}},
	} {
		t.Run(row.law, func(t *testing.T) {
			b := newPassBudget(common+reserved, NewMetrics(nil))
			var claims []*claim
			for i, a := range row.asks {
				c := b.claim(a.claim)
				if claims = append(claims, c); c.hasRoom() != a.room {
					t.Errorf("claim %d has room: %v", i, c.hasRoom())
				}
			}
			for _, c := range claims {
				c.end()
				c.end()
			}
			checkUnused(t, b)
		})
	}
}

// checkUnused fails the test unless nothing of the budget is used or waited for.
func checkUnused(t *testing.T, b *passBudget) {
	t.Helper()
	for _, q := range b.parts {
		if used, waiting := q.Numbers(); used != 0 || waiting != 0 || len(b.recovering) != 0 {
			t.Errorf("%d is used, %d wait, %v recover", used, waiting, b.recovering)
		}
	}
}

func TestPassBudgetIsKeptAndReturned(t *testing.T) {
	const total = 1000
	rnd := rand.New(rand.NewPCG(1, 2))
	b := newPassBudget(total, NewMetrics(nil))
	var open []*claim
	for range 3000 {
		switch n := rnd.IntN(10); {
		case n < 4:
			open = append(open, b.claim(claim{
				resource: []schema.GroupVersionResource{somePods, someFoos, someBars}[rnd.IntN(3)],
				bytes:    rnd.Int64N(600), system: rnd.IntN(4) == 0, recovers: rnd.IntN(2) == 0,
			}))
		case len(open) == 0:
		case n < 5:
			open[rnd.IntN(len(open))].hurry()
		default:
			i := rnd.IntN(len(open))
			open[i].end()
			open = append(open[:i], open[i+1:]...)
		}
		common, _ := b.parts[0].Numbers()
		reserved, _ := b.parts[1].Numbers()
		if common > total*3/4 || reserved > total/4 {
			t.Fatalf("%d of the common part are used and %d of the reserved one", common, reserved)
		}
		var sums int64
		perResource, recovering := map[schema.GroupVersionResource]int64{}, 0
		for _, c := range open {
			switch {
			case c.recovers && c.hasRoom():
				t.Fatal("a read passes and waits for its store")
			case c.recovers:
				recovering++
			case c.hasRoom() && !c.system: // of the common part alone
				bytes := min(c.bytes, total*3/8)
				sums += bytes
				perResource[c.resource] += bytes
			}
		}
		if sums > common {
			t.Fatalf("%d bytes pass and %d are counted", sums, common)
		}
		for resource, bytes := range perResource {
			if bytes > total*3/8 {
				t.Fatalf("%d bytes of %v pass", bytes, resource)
			}
		}
		for _, n := range b.recovering {
			recovering -= n
		}
		if recovering != 0 {
			t.Fatalf("%d are not counted that wait for their store", recovering)
		}
	}
	for _, c := range open {
		c.end()
	}
	checkUnused(t, b)
}

func TestSystemCallersAreThoseOnWhichTheClusterDepends(t *testing.T) {
	named := func(name string, groups ...string) user.Info { return &user.DefaultInfo{Name: name, Groups: groups} }
	for _, row := range []struct {
		acting, impersonated user.Info
		system               bool
	}{
		{nil, nil, false},
		{named("jane", "system:authenticated"), nil, false},
		{named("root", "system:masters"), nil, true},
		{named("system:node:a", "system:nodes"), nil, true},
		{named("system:kube-scheduler"), nil, true},
		{named("system:serviceaccount:kube-system:node-controller", "system:serviceaccounts:kube-system"), nil, true},
		{named("system:serviceaccount:default:kube-system", "system:serviceaccounts", "system:serviceaccounts:default"), nil, false},
		{named("root", "system:masters"), named("jane"), false},
		{named("proxy"), named("system:node:a", "system:nodes"), true},
	} {
		info := &request.Info{Acting: row.acting, Impersonated: row.impersonated}
		if got := systemCaller(info); got != row.system {
			t.Errorf("%v for %v is a system caller: %v", row.acting, row.impersonated, got)
		}
	}
}
