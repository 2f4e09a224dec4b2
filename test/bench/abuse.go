package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	// usersPerConnection is how many users share a connection for their lists, and listEvery is how often each lists.
	usersPerConnection, listEvery = 40, 30 * time.Second
	// warmUp is the time before a measurement in which nothing starts any more.
	warmUp = 10 * time.Second
	// slowList is how long a list of a user may take.
	slowList = 2 * time.Minute
)

// abuses measures the abusive user, the attacks, the crowd and the controller, as far as --only selects them.
func (w *world) abuses(ctx context.Context, r *report) {
	if w.only.MatchString("abusive user") {
		w.abusive(ctx, r)
	}
	w.attacks(ctx, r)
	w.crowds(ctx, r)
	w.controllers(ctx, r)
}

// isolate gives the first CPU to a server, and the others to the other servers and the clients: latencies are not
// those of clients which wait for a CPU.
func (w *world) isolate(t *target, others ...*target) {
	pin(true, self(), w.apiserver.proc)
	for _, other := range others {
		pin(true, other.proc)
	}
	pin(false, t.proc)
}

// abusive measures lists of many users, alone and beside one abuser, at the apiserver and at a Sluice with default limits.
// Each user has a token, an open watch, and lists the pods of one node.
func (w *world) abusive(ctx context.Context, r *report) {
	tokens := w.podReaders(ctx, w.users+1)
	w.withCachedPods(ctx, harness.SluiceOptions{}, func(limited *target) {
		direct := w.direct(harness.Anonymous)
		defer direct.close()
		for _, t := range []*target{direct, limited} {
			w.isolate(t, limited)
			r.add(w.abusiveAt(ctx, t, tokens))
		}
	})
}

// abusiveAt measures one target. The last token is the abusive user's.
func (w *world) abusiveAt(ctx context.Context, t *target, tokens []string) *row {
	progress("%d users at the %s", w.users, t.name)
	path := func(user int) string { return "/api/v1/pods?fieldSelector=spec.nodeName%3D" + w.node(user) }
	c := &abuse.Crowd{Agents: w.users, Tokens: tokens[:w.users], Path: path, Pause: crowdPause}
	defer startCrowd(ctx, c, t)()
	watches := w.join(ctx, c, t).Watches
	t.connection(w.users / usersPerConnection) // goroutines may share only connections that exist
	lists := victim{name: fmt.Sprintf("lists of %d users with %d watches", w.users, watches), limit: slowList,
		every: listEvery / time.Duration(w.users), do: func(ctx context.Context, i int) int {
			user := i % w.users
			q := withBearer(tokens[user], path(user)+"&resourceVersion=0")
			return status(ctx, t.connections[user/usersPerConnection], q)
		}}
	sleep(ctx, warmUp)
	r := newRow(attackTable, abuser.What)
	r.What, r.Target = lists.name, t.name
	r.By[quietly] = lists.watch(ctx, w.abuseWindow)
	end := startAttack(&abuser, t, tokens[w.users:])
	sleep(ctx, warmUp)
	r.By[attacked] = lists.watch(ctx, w.abuseWindow)
	r.By[attackCommand] = &figures{Counts: end()}
	return r
}

func withBearer(token, path string) harness.Request {
	return harness.Request{Path: path, Header: http.Header{"Authorization": {"Bearer " + token}, "Accept": {protobufType}}}
}

// abuser lists all pods, a hundred times as often as another user lists the pods of a node.
var abuser = abuse.Attack{Name: "abusive", What: "lists of all pods, 3.3 times a second", Attacker: lister(listEvery / 100)}

// lister starts a list of all pods again and again, whether those before have ended or not.
type lister time.Duration

// Attack implements abuse.Attacker. It has the lowest priority, so that it takes only CPU time that the clients of the
// others leave: what remains is what it costs the server.
func (l lister) Attack(ctx context.Context, to *abuse.Target, tokens []string) (abuse.Tally, error) {
	self().lowestPriority()
	var connections []*harness.RawClient
	for range 8 {
		config := &rest.Config{Host: to.URL, TLSClientConfig: rest.TLSClientConfig{CAData: to.CA}}
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	q := withBearer(tokens[0], "/api/v1/pods?resourceVersion=0")
	lists := victim{every: time.Duration(l), limit: slowList, do: func(ctx context.Context, i int) int {
		return status(ctx, connections[i%len(connections)], q)
	}}.watch(ctx, math.MaxInt64)
	lists.Counts["200"] = len(lists.walls)
	return abuse.Tally(lists.Counts), nil
}
