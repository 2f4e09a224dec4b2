package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"path/filepath"
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
func (w *world) identify(ctx context.Context) (_ *identities, err error) {
	defer fails(&err)
	ids := &identities{callers: map[abuse.Callers][]string{abuse.Strangers: nil}, fresh: make(chan string, newTokens)}
	fresh := must(w.podReaders(ctx, newTokens))
	for _, token := range fresh {
		ids.fresh <- token
	}
	ids.callers[abuse.Readers] = fresh[:8]
	for range 8 {
		ids.newToken()
	}
	ids.callers[abuse.Roleless] = must(w.accounts(ctx, "bench-roleless", 8))
	edit := rbacv1.PolicyRule{
		Verbs: []string{"*"}, APIGroups: []string{"", "coordination.k8s.io"}, Resources: []string{"configmaps", "leases"},
	}
	ids.callers[abuse.Editors] = must(w.accounts(ctx, abuse.Namespace, 3, edit))
	check(w.createVictims(ctx))
	for i := range victimNodes {
		ids.nodes = append(ids.nodes, must(w.nodeKeys(nodeName(i))))
	}
	return ids, nil
}

// createVictims creates what victims change.
func (w *world) createVictims(ctx context.Context) error {
	client, none := w.plane.Client(user), metav1.CreateOptions{}
	for i := range victimNodes {
		name := metav1.ObjectMeta{Name: nodeName(i)}
		_, err := client.CoordinationV1().Leases(leasesOfNodes).Create(ctx, &coordinationv1.Lease{ObjectMeta: name}, none)
		if ignoreExists(err) == nil {
			_, err = client.CoreV1().ConfigMaps(abuse.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: name}, none)
		}
		if ignoreExists(err) != nil {
			return err
		}
	}
	return nil
}

// nodeKeys signs a client certificate of a node.
func (w *world) nodeKeys(node string) (k nodeKeys, err error) {
	defer fails(&err)
	ca := must(tls.LoadX509KeyPair(filepath.Join(w.plane.Dir, "client-ca.crt"), filepath.Join(w.plane.Dir, "client-ca.key")))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		Subject:   pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	cert := must(x509.CreateCertificate(rand.Reader, template, ca.Leaf, &key.PublicKey, ca.PrivateKey))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	k.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	k.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return k, err
}

// newToken returns a token that the target, which is new for each attack, does not know.
func (ids *identities) newToken() string {
	token := <-ids.fresh
	ids.fresh <- token
	return token
}

// victimsOf returns the victims of an attack at a target.
func (w *world) victimsOf(a *abuse.Attack, t *target, ids *identities) ([]victim, error) {
	if a.Admin {
		return []victim{newConnections(t, ids.newToken()), probes(t)}, nil
	}
	all, err := writers(w.plane.RESTConfig(user).BearerToken, t, ids)
	if err == nil && a.By == abuse.Strangers {
		var fresh *harness.RawClient
		fresh, err = harness.NewRawClient(t.config)
		all = append(all, requests("lists by new tokens", fresh, func(int) harness.Request {
			return withBearer(ids.newToken(), "/api/v1/pods?limit=1&resourceVersion=0")
		}))
	}
	return all, err
}

// writers returns the victims that write: an administrator and nodes, who renew leases, and an editor.
func writers(admin string, t *target, ids *identities) (_ []victim, err error) {
	defer fails(&err)
	masters := must(harness.NewRawClient(t.config))
	editor := must(harness.NewRawClient(t.config))
	renew := patches(victimPaths("/apis/coordination.k8s.io/v1/namespaces/"+leasesOfNodes+"/leases/"), `{"spec":{"renewTime":%q}}`)
	change := patches(victimPaths("/api/v1/namespaces/"+abuse.Namespace+"/configmaps/"), `{"data":{"at":%q}}`)
	nodes, err := ofNodes(t, ids, renew)
	return []victim{
		requests("leases by system:masters", masters, withToken(admin, renew)), nodes,
		requests("writes of an editor", editor, withToken(ids.callers[abuse.Editors][2], change)),
	}, err
}

func victimPaths(prefix string) []string {
	var paths []string
	for i := range victimNodes {
		paths = append(paths, prefix+nodeName(i))
	}
	return paths
}

func withToken(token string, request func(i int) harness.Request) func(i int) harness.Request {
	return func(i int) harness.Request {
		q := request(i)
		q.Header.Set("Authorization", "Bearer "+token)
		return q
	}
}

// ofNodes returns a victim that renews leases, each as its node over a connection of its own.
func ofNodes(t *target, ids *identities, renew func(i int) harness.Request) (victim, error) {
	var connections []*harness.RawClient
	for _, keys := range ids.nodes {
		config := rest.CopyConfig(t.config)
		config.CertData, config.KeyData = keys.cert, keys.key
		raw, err := harness.NewRawClient(config)
		if err != nil {
			return victim{}, err
		}
		connections = append(connections, raw)
	}
	return victim{"leases by nodes", func(ctx context.Context, i int) (int, error) {
		return codeOf(ctx, connections[i%len(connections)], renew(i))
	}}, nil
}

// newConnections returns a victim that lists over a new connection each time.
func newConnections(t *target, token string) victim {
	return victim{"lists over new connections", func(ctx context.Context, _ int) (int, error) {
		raw, err := harness.NewRawClient(t.config)
		if err != nil {
			return 0, err
		}
		defer raw.Close()
		return codeOf(ctx, raw, withBearer(token, "/api/v1/pods?limit=1&resourceVersion=0"))
	}}
}

// probes returns a victim that asks the admin listener whether a Sluice is ready, over a new connection each time.
func probes(t *target) victim {
	return victim{"readiness probes", func(ctx context.Context, _ int) (int, error) {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, t.sluice.Admin+"/readyz", nil)
		if err != nil {
			return 0, err
		}
		q.Close = true
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}}
}
