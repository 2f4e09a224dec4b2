package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	leasesOfNodes = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	mapsOfEditors = "/api/v1/namespaces/" + abuse.Namespace + "/configmaps"
	// victimNodes is how many leases there are, each of a node.
	victimNodes = 50
	// newTokens is how many tokens there are of which each request uses another one.
	newTokens = 1_000
)

// identities are those that attackers and victims have.
type identities struct {
	callers map[abuse.Callers][]string // tokens
	fresh   []string                   // tokens
	used    atomic.Int64               // of fresh
	nodes   []rest.TLSClientConfig     // their certificates
}

// attackers returns the tokens of those who attack. The last editor is a victim.
func (ids *identities) attackers(by abuse.Callers) []string {
	if by == abuse.Editors {
		return ids.callers[by][:2]
	}
	return ids.callers[by]
}

func nodeName(i int) string { return fmt.Sprintf("victim-node-%d", i) }

// identify creates the identities and the objects that victims change.
func (w *world) identify(ctx context.Context) *identities {
	read := w.podReaders(ctx, newTokens)
	ids := &identities{fresh: read, callers: map[abuse.Callers][]string{
		abuse.Readers: read[:8], abuse.Roleless: w.accounts(ctx, "bench-roleless", 8),
		abuse.Editors: w.accounts(ctx, abuse.Namespace, 3, rbacv1.PolicyRule{
			Verbs: []string{"*"}, APIGroups: []string{"", "coordination.k8s.io"}, Resources: []string{"configmaps", "leases"},
		}),
	}}
	for i := range victimNodes {
		for _, path := range []string{leasesOfNodes, mapsOfEditors} {
			check(w.plane.Create(ctx, path, named(nodeName(i))))
		}
		subject := pkix.Name{CommonName: "system:node:" + nodeName(i), Organization: []string{"system:nodes"}}
		cert, key, err := w.plane.ClientCertificate(subject)
		check(err)
		ids.nodes = append(ids.nodes, rest.TLSClientConfig{CertData: cert, KeyData: key})
	}
	return ids
}

// newToken returns a token that the target, which is new for each attack, does not know.
func (ids *identities) newToken() string { return ids.fresh[ids.used.Add(1)%newTokens] }

// victimsOf returns the victims of an attack at a target.
func (w *world) victimsOf(a *abuse.Attack, t *target, ids *identities) []victim {
	if a.Admin {
		token := ids.newToken()
		return []victim{
			newVictim("lists over new connections", func(ctx context.Context, _ int) int {
				raw := must(harness.NewRawClient(t.config))
				defer raw.Close()
				return status(ctx, raw, noPods(token))
			}),
			newVictim("readiness probes", func(ctx context.Context, _ int) int {
				q := must(http.NewRequestWithContext(ctx, http.MethodGet, t.sluice.Admin+"/readyz", nil))
				q.Close = true // over a new connection each time
				resp := must(http.DefaultClient.Do(q))
				check(resp.Body.Close())
				return resp.StatusCode
			}),
		}
	}
	editor := ids.callers[abuse.Editors][2]
	all := []victim{
		ofNodes(t, ids),
		requests("writes of an editor", must(harness.NewRawClient(t.config)), func(i int) harness.Request {
			return patched(mapsOfEditors, i, `{"data":{"at":%q}}`, editor)
		}),
	}
	if a.By == abuse.Strangers {
		raw := must(harness.NewRawClient(t.config))
		all = append(all, requests("lists by new tokens", raw, func(int) harness.Request { return noPods(ids.newToken()) }))
	}
	return all
}

// noPods is a small read of a cached resource: an apiserver that is asked for any version ignores limits.
func noPods(token string) harness.Request {
	return withBearer(token, "/api/v1/namespaces/default/pods?resourceVersion=0")
}

// patched returns a request that changes the objects of the nodes in turn, by a token unless that is empty. The patch has a
// place for the time.
func patched(collection string, i int, patch, token string) harness.Request {
	q := harness.Request{
		Method: http.MethodPatch, Path: collection + "/" + nodeName(i%victimNodes), Header: http.Header{"Content-Type": {mergePatch}},
		Body: fmt.Appendf(nil, patch, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")),
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	return q
}

// ofNodes returns a victim that renews leases, each as its node over a connection of its own.
func ofNodes(t *target, ids *identities) victim {
	var connections []*harness.RawClient
	for _, keys := range ids.nodes {
		config := rest.CopyConfig(t.config)
		config.CertData, config.KeyData = keys.CertData, keys.KeyData
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	return newVictim("leases by nodes", func(ctx context.Context, i int) int {
		return status(ctx, connections[i%len(connections)], patched(leasesOfNodes, i, `{"spec":{"renewTime":%q}}`, ""))
	})
}

// victim is somebody whose requests an attack may delay.
type victim struct {
	name  string
	every time.Duration // a request starts, which does not wait for those before
	limit time.Duration // of a request
	// do sends the i-th request and returns its code.
	do func(ctx context.Context, i int) int
}

func newVictim(name string, do func(context.Context, int) int) victim {
	return victim{name, 100 * time.Millisecond, 12 * time.Second, do}
}

// watch sends requests for a while, or until ctx ends, and returns when all have been answered.
func (v victim) watch(ctx context.Context, during time.Duration) *figures {
	f := &figures{Counts: tally{}}
	var mu sync.Mutex // guards f and walls
	var walls []time.Duration
	one := func(i int) {
		limited, cancel := context.WithTimeout(ctx, v.limit)
		defer cancel()
		start := time.Now()
		code := 0
		err := try(func() { code = v.do(limited, i) })
		wall := time.Since(start)
		if ctx.Err() != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		f.Requests++
		switch {
		case err != nil && limited.Err() != nil:
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
	for i := range int(during / v.every) {
		running.Go(func() { one(i) })
		if !slept(ctx, v.every) {
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
	if f.Counts == nil {
		f.Counts = tally{}
	}
	f.Counts.add(other.Counts)
}

// requests returns a victim that sends requests over one connection.
func requests(name string, raw *harness.RawClient, request func(i int) harness.Request) victim {
	return newVictim(name, func(ctx context.Context, i int) int { return status(ctx, raw, request(i)) })
}

// status sends a request, reads the response and returns its code.
func status(ctx context.Context, raw *harness.RawClient, q harness.Request) int {
	resp := must(raw.Open(ctx, q))
	defer resp.Body.Close()
	drain(resp.Body)
	return resp.StatusCode
}
