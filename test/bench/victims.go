package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	leasesOfNodes = "kube-node-lease"
	// victimNodes is how many leases there are, each of a node.
	victimNodes = 50
	// newTokens is how many tokens there are that each request uses one of, once.
	newTokens = 1_000
)

// identities are those that attackers and victims have.
type identities struct {
	callers map[abuse.Callers][]string // tokens
	fresh   chan string                // tokens, those first that nobody has sent for longest
	nodes   []nodeKeys
}

// attackers returns the tokens of those who attack. The last editor is a victim.
func (ids *identities) attackers(by abuse.Callers) []string {
	if by == abuse.Editors {
		return ids.callers[by][:2]
	}
	return ids.callers[by]
}

// nodeKeys are a client certificate of a node.
type nodeKeys struct{ cert, key []byte }

func nodeName(i int) string { return fmt.Sprintf("victim-node-%d", i) }

// identify creates the identities and the objects that victims change.
func (w *world) identify(ctx context.Context) *identities {
	ids := &identities{callers: map[abuse.Callers][]string{abuse.Strangers: nil}, fresh: make(chan string, newTokens)}
	fresh := w.podReaders(ctx, newTokens)
	for _, token := range slices.Concat(fresh[8:], fresh[:8]) {
		ids.fresh <- token
	}
	ids.callers[abuse.Readers] = fresh[:8]
	ids.callers[abuse.Roleless] = w.accounts(ctx, "bench-roleless", 8)
	edit := rbacv1.PolicyRule{
		Verbs: []string{"*"}, APIGroups: []string{"", "coordination.k8s.io"}, Resources: []string{"configmaps", "leases"},
	}
	ids.callers[abuse.Editors] = w.accounts(ctx, abuse.Namespace, 3, edit)
	client, none := w.plane.Client(user), metav1.CreateOptions{}
	for i := range victimNodes {
		name := metav1.ObjectMeta{Name: nodeName(i)}
		created(client.CoordinationV1().Leases(leasesOfNodes).Create(ctx, &coordinationv1.Lease{ObjectMeta: name}, none))
		created(client.CoreV1().ConfigMaps(abuse.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: name}, none))
		ids.nodes = append(ids.nodes, w.nodeKeys(nodeName(i)))
	}
	return ids
}

// nodeKeys signs a client certificate of a node.
func (w *world) nodeKeys(node string) nodeKeys {
	cert, key, err := w.plane.ClientCertificate(pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}})
	check(err)
	return nodeKeys{cert, key}
}

// newToken returns a token that the target, which is new for each attack, does not know.
func (ids *identities) newToken() string {
	token := <-ids.fresh
	ids.fresh <- token
	return token
}

// victimsOf returns the victims of an attack at a target.
func (w *world) victimsOf(a *abuse.Attack, t *target, ids *identities) []victim {
	if a.Admin {
		return []victim{newConnections(t, ids.newToken()), probes(t)}
	}
	all := writers(w.plane.RESTConfig(user).BearerToken, t, ids)
	if a.By == abuse.Strangers {
		fresh := must(harness.NewRawClient(t.config))
		all = append(all, requests("lists by new tokens", fresh, func(int) harness.Request { return noPods(ids.newToken()) }))
	}
	return all
}

// noPods is a small read of a cached resource: an apiserver that is asked for any version ignores limits.
func noPods(token string) harness.Request {
	return withBearer(token, "/api/v1/namespaces/default/pods?resourceVersion=0")
}

// writers returns the victims that write: an administrator and nodes, who renew leases, and an editor.
func writers(admin string, t *target, ids *identities) []victim {
	renew := patches("/apis/coordination.k8s.io/v1/namespaces/"+leasesOfNodes+"/leases/", `{"spec":{"renewTime":%q}}`)
	change := patches("/api/v1/namespaces/"+abuse.Namespace+"/configmaps/", `{"data":{"at":%q}}`)
	return []victim{
		requests("leases by system:masters", must(harness.NewRawClient(t.config)), withToken(admin, renew)),
		ofNodes(t, ids, renew),
		requests("writes of an editor", must(harness.NewRawClient(t.config)), withToken(ids.callers[abuse.Editors][2], change)),
	}
}

// patches returns requests that change the objects of the nodes in turn. The format of the patch has a place for the time.
func patches(prefix, format string) func(i int) harness.Request {
	return func(i int) harness.Request {
		return harness.Request{
			Method: http.MethodPatch, Path: prefix + nodeName(i%victimNodes),
			Body:   fmt.Appendf(nil, format, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")),
			Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
		}
	}
}

func withToken(token string, request func(i int) harness.Request) func(i int) harness.Request {
	return func(i int) harness.Request {
		q := request(i)
		q.Header.Set("Authorization", "Bearer "+token)
		return q
	}
}

// ofNodes returns a victim that renews leases, each as its node over a connection of its own.
func ofNodes(t *target, ids *identities, renew func(i int) harness.Request) victim {
	var connections []*harness.RawClient
	for _, keys := range ids.nodes {
		config := rest.CopyConfig(t.config)
		config.CertData, config.KeyData = keys.cert, keys.key
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	return victim{"leases by nodes", func(ctx context.Context, i int) int {
		return must(connections[i%len(connections)].Do(ctx, renew(i))).Status
	}}
}

// newConnections returns a victim that lists over a new connection each time.
func newConnections(t *target, token string) victim {
	return victim{"lists over new connections", func(ctx context.Context, _ int) int {
		raw := must(harness.NewRawClient(t.config))
		defer raw.Close()
		return must(raw.Do(ctx, noPods(token))).Status
	}}
}

// probes returns a victim that asks the admin listener whether a Sluice is ready, over a new connection each time.
func probes(t *target) victim {
	return victim{"readiness probes", func(ctx context.Context, _ int) int {
		q := must(http.NewRequestWithContext(ctx, http.MethodGet, t.sluice.Admin+"/readyz", nil))
		q.Close = true
		resp := must(http.DefaultClient.Do(q))
		check(resp.Body.Close())
		return resp.StatusCode
	}}
}

const (
	// victimEvery is the time between two requests of a victim, which do not wait for each other.
	victimEvery = 100 * time.Millisecond
	// victimLimit is how long one may take.
	victimLimit = 12 * time.Second
)

// victim is somebody whose requests an attack may delay.
type victim struct {
	name string
	// do sends the i-th request and returns its code.
	do func(ctx context.Context, i int) int
}

// watch sends requests for a while, and returns when all have been answered.
func (v victim) watch(ctx context.Context, during time.Duration) *figures {
	f := &figures{Counts: tally{}}
	var mu sync.Mutex // guards f and walls
	var walls []time.Duration
	one := func(i int) {
		ctx, cancel := context.WithTimeout(ctx, victimLimit)
		defer cancel()
		start := time.Now()
		code := 0
		err := try(func() { code = v.do(ctx, i) })
		wall := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		f.Requests++
		switch {
		case err != nil && ctx.Err() != nil:
			f.Counts["no answer"]++
		case err != nil:
			f.Counts["no connection"]++
		case code >= http.StatusBadRequest:
			f.Counts[fmt.Sprint(code)]++
		default:
			walls = append(walls, wall)
		}
	}
	var running sync.WaitGroup
	for i := range int(during / victimEvery) {
		running.Go(func() { one(i) })
		if !slept(ctx, victimEvery) {
			break
		}
	}
	running.Wait()
	f.Requests -= len(walls) // which timed adds
	f.timed(walls)
	return f
}

// add adds the figures of another time.
func (f *figures) add(other *figures) {
	failed := other.Requests - len(other.walls)
	f.timed(other.walls)
	f.Requests += failed
	f.Counts.add(other.Counts)
}

// requests returns a victim that sends requests over one connection.
func requests(name string, raw *harness.RawClient, request func(i int) harness.Request) victim {
	return victim{name, func(ctx context.Context, i int) int { return must(raw.Do(ctx, request(i))).Status }}
}
