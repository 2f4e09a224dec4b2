package serve

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
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
			if len(b.used) != 0 || b.waiting != 0 {
				t.Errorf("%v is used and %d wait after the end of all", b.used, b.waiting)
			}
		})
	}
}

// What passes one after the other would cost as much as what passes at once.
func TestALongReadTakesNoRoomWhileOthersRecover(t *testing.T) {
	b := newPassBudget(1000, NewMetrics(nil))
	first := b.claim(claim{resource: somePods, bytes: 1000})
	recovers := b.claim(claim{resource: somePods, bytes: 1, recovers: true})
	long, short := b.claim(claim{resource: somePods, bytes: plan.SmallBytes + 1}), b.claim(claim{resource: somePods, bytes: 1})
	first.end()
	if long.hasRoom() || !short.hasRoom() || recovers.hasRoom() {
		t.Errorf("room while one recovers: long %v, short %v, itself %v", long.hasRoom(), short.hasRoom(), recovers.hasRoom())
	}
	short.end()
	if !recovers.hurry() || long.hasRoom() {
		t.Error("the long one comes before it")
	}
	recovers.end()
	if !long.hasRoom() {
		t.Error("the long one has no room")
	}
	long.end()
}

// One connection may have hundreds of reads that wait.
func TestCallersGetRoomInTurn(t *testing.T) {
	b := newPassBudget(1000, NewMetrics(nil))
	many := make([]*claim, 5)
	for i := range many {
		many[i] = b.claim(claim{resource: somePods, bytes: 1000, caller: "user:many"})
	}
	one := b.claim(claim{resource: somePods, bytes: 1000, caller: "user:one"})
	if many[0].end(); !one.hasRoom() || many[1].hasRoom() {
		t.Errorf("room after the first: one %v, many %v", one.hasRoom(), many[1].hasRoom())
	}
	again := b.claim(claim{resource: somePods, bytes: 1000, caller: "user:one"})
	if one.end(); again.hasRoom() || !many[1].hasRoom() {
		t.Error("a caller has two turns before another has one")
	}
	for _, c := range append(many, again) {
		c.end()
	}
	if len(b.lines) > 0 {
		t.Errorf("%d lines are left after the end of all", len(b.lines))
	}
}

// A caller with many claims cannot move the turns of others by a grant out of order: of another resource, or of a short read.
func TestGrantsOutOfOrderDelayNobody(t *testing.T) {
	for name, ahead := range map[string]claim{
		"of another resource": {resource: someFoos, bytes: 1, caller: "user:many"},
		"of a short read":     {resource: somePods, bytes: 1, caller: "user:many"},
	} {
		t.Run(name, func(t *testing.T) {
			const all = 4 * plan.SmallBytes
			b := newPassBudget(all, NewMetrics(nil))
			pods := func(caller string, recovers bool) claim {
				return claim{resource: somePods, bytes: plan.SmallBytes + 1, caller: caller, recovers: recovers}
			}
			first := b.claim(pods("user:first", false))
			recovers := b.claim(pods("user:recovers", true))
			var many []*claim
			for range 100 {
				many = append(many, b.claim(pods("user:many", true)))
			}
			if c := b.claim(ahead); !c.hasRoom() {
				t.Fatal("no room out of order")
			}
			one := b.claim(pods("user:one", true))
			for _, c := range append([]*claim{recovers, one}, many...) {
				c.hurry()
			}
			first.end()
			recovers.end()
			many[0].end()
			if !one.hasRoom() {
				t.Error("one claim waits behind all of another caller")
			}
		})
	}
}

// A caller whose claims come faster than its turns, and give up, keeps its turns.
func TestClaimsThatGiveUpLetTheirCallersOthersComeForward(t *testing.T) {
	b := newPassBudget(1000, NewMetrics(nil))
	ask := func(caller string) *claim { return b.claim(claim{resource: somePods, bytes: 1000, caller: caller}) }
	running := ask("user:first")
	others := []*claim{ask("user:b"), ask("user:c")}
	var many []*claim
	got := 0
	const rounds = 60
	for range rounds {
		for range 10 {
			many = append(many, ask("user:many"))
		}
		for len(many) > 50 { // the oldest give up
			many[0].end()
			many = many[1:]
		}
		running.end()
		for i, c := range others {
			if c.hasRoom() {
				running, others[i] = c, ask(c.caller)
			}
		}
		for i, c := range many {
			if c.hasRoom() {
				running, many = c, slices.Delete(many, i, i+1)
				got++
				break
			}
		}
	}
	if got < rounds/3-1 {
		t.Errorf("the caller has %d of %d turns", got, rounds)
	}
	for _, c := range slices.Concat(many, others, []*claim{running}) {
		c.end()
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
				bytes:    rnd.Int64N(600) + rnd.Int64N(2)*plan.SmallBytes, system: rnd.IntN(4) == 0, recovers: rnd.IntN(2) == 0,
				caller: string(rune('a' + rnd.IntN(5))),
			}))
		case len(open) == 0:
		case n < 5:
			open[rnd.IntN(len(open))].hurry()
		default:
			i := rnd.IntN(len(open))
			open[i].end()
			open = append(open[:i], open[i+1:]...)
		}
		used, waiting := map[account]int64{}, 0
		for _, c := range open {
			if !c.hasRoom() {
				waiting++
				continue
			}
			used[c.account] += c.charged
		}
		var sums [2]int64
		for a, bytes := range used {
			part := 0
			most := int64(total * 3 / 4)
			if a.part == reserved {
				part, most = 1, total/4
			}
			if sums[part] += bytes; bytes > most/2 || sums[part] > most {
				t.Fatalf("%v has %d, all have %v", a, bytes, sums)
			}
		}
		if waiting != b.waiting {
			t.Fatalf("%d wait, want %d", b.waiting, waiting)
		}
		if c := nextOf(b, open); c != nil {
			t.Fatalf("%+v waits, although it is its turn and there is room", c)
		}
	}
	for _, c := range open {
		c.end()
	}
	if len(b.used) != 0 || b.waiting != 0 {
		t.Errorf("%v is used and %d wait after the end of all", b.used, b.waiting)
	}
}

// nextOf returns a claim that waits although it may be granted, by looking at all in their order; nil if there is none.
func nextOf(b *passBudget, open []*claim) *claim {
	type condition struct {
		account
		recovers bool
	}
	waiting := slices.DeleteFunc(slices.Clone(open), func(c *claim) bool { return c.hasRoom() || c.flow.first() != c })
	slices.SortFunc(waiting, func(c, d *claim) int {
		return cmp.Or(cmp.Compare(c.flow.turn, d.flow.turn), cmp.Compare(c.arrived, d.arrived))
	})
	before := map[condition]bool{}
	for _, c := range waiting {
		for p := common; p <= c.last(); p++ {
			a := account{p, c.resource}
			_, fits := b.fits(c, p)
			if !c.recovers && !before[condition{a, false}] && !(c.kind() == long && before[condition{a, true}]) && fits {
				return c
			}
			if c.recovers || c.kind() == short || !before[condition{a, true}] {
				before[condition{a, c.recovers}] = true
			}
		}
	}
	return nil
}

// BenchmarkPassBudget measures what one of many reads costs that wait and give up, as those of a crowd do.
func BenchmarkPassBudget(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(strconv.Itoa(waiting), func(b *testing.B) {
			budget := newPassBudget(1000, NewMetrics(nil))
			claims := make([]*claim, waiting)
			for i := range b.N {
				c := &claims[i%waiting]
				if *c != nil {
					(*c).hurry()
					(*c).end()
				}
				*c = budget.claim(claim{
					resource: somePods, bytes: 1000, caller: strconv.Itoa(i % 8), recovers: i%2 == 0,
				})
			}
		})
	}
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
