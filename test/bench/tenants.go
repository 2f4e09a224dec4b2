package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// tenantNamespaces is the number of namespaces, of which a tenant may read tenantMay, with tenantMaps ConfigMaps in each.
	tenantNamespaces, tenantMay, tenantMaps = 400, 30, 5
	// tenantClients is the number of clients of a tenant, each with a connection of its own.
	tenantClients = 20
	// tenantAccount is the namespace of the tenant's service account.
	tenantAccount = "bench-tenant"
)

func tenantNamespace(i int) string { return fmt.Sprintf("tenant-%03d", i) }

// tenants measures the clients of a tenant: at the apiserver with an informer for each kind and namespace, and at Sluice with one
// for each kind.
func (w *world) tenants(ctx context.Context, r *report) {
	names := map[string]*target{"tenant, each namespace": w.apiserver, "tenant, across": w.cached}
	token := ""
	for _, name := range []string{"tenant, each namespace", "tenant, across"} {
		if w.only.matches(name) {
			if token == "" {
				token = w.makeTenant(ctx)
			}
			progress("%s", name)
			r.add(w.tenantAt(ctx, name, names[name], token))
		}
	}
}

// makeTenant creates the namespaces and the tenant's rights, and returns its token.
func (w *world) makeTenant(ctx context.Context) (token string) {
	token = w.accounts(ctx, tenantAccount, 1)[0]
	client, none := w.plane.Client(user), metav1.CreateOptions{}
	meta := metav1.ObjectMeta{Name: tenantAccount}
	created(client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"", "apps", "batch"},
		Resources: []string{"pods", "configmaps", "services", "deployments", "jobs"},
	}}}, none))
	g, ctx := newGroup(ctx, accountMakers)
	for i := range tenantNamespaces {
		g.run(func() {
			ns := tenantNamespace(i)
			created(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, none))
			for n := range tenantMaps {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", n)}}
				created(client.CoreV1().ConfigMaps(ns).Create(ctx, m, none))
			}
			if i < tenantMay {
				created(client.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
					ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenantAccount},
					Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenantAccount, Name: accountName(0)}},
				}, none))
			}
		})
	}
	g.wait()
	return token
}

// tenantAt starts the clients at a target, waits until they have all objects, and has objects change that they see.
func (w *world) tenantAt(ctx context.Context, name string, t *target, token string) *row {
	r := newRow(tenantTable, name)
	r.Target, r.Clients, r.Objects = t.name, tenantClients, tenantMay*tenantMaps
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var requests, updates atomic.Int64
	var synced []cache.InformerSynced
	var stores []cache.Store
	m := w.meter()
	for range tenantClients {
		config := rest.CopyConfig(t.config)
		config.BearerToken, config.QPS = token, -1
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return tenantTransport{next, &requests} })
		client := must(kubernetes.NewForConfig(config))
		for _, ns := range scopesAt(t) {
			f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns))
			maps := f.Core().V1().ConfigMaps().Informer()
			must(maps.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { updates.Add(1) }}))
			stores = append(stores, maps.GetStore())
			for _, i := range []cache.SharedIndexInformer{
				maps, f.Core().V1().Pods().Informer(), f.Core().V1().Services().Informer(), f.Apps().V1().Deployments().Informer(), f.Batch().V1().Jobs().Informer(),
			} {
				synced = append(synced, i.HasSynced)
			}
			f.Start(ctx.Done())
		}
	}
	check(boolError(cache.WaitForCacheSync(ctx.Done(), synced...), "informers have not synced"))
	have := 0
	for _, s := range stores {
		have += len(s.ListKeys())
	}
	check(boolError(have == tenantClients*tenantMay*tenantMaps, fmt.Sprintf("the informers have %d objects", have)))
	used := m.read()
	r.By[joining] = &figures{
		Seconds: time.Since(m.began).Seconds(), Requests: int(requests.Load()), Upstream: used.cpu[apiserverName].Seconds(),
		Own: used.cpu[sluiceName].Seconds(), Watches: len(synced),
	}
	m = w.meter()
	pace(ctx, w.rate, w.updates, func(ctx context.Context) {
		n := w.sequence.Add(1)
		w.patch(ctx, fmt.Sprintf("/api/v1/namespaces/%s/configmaps/map-0", tenantNamespace(int(n%tenantMay))), n)
	})
	poll(ctx, 20*time.Millisecond, deliverLimit, func() bool { return updates.Load() >= int64(w.updates*tenantClients) })
	used = m.read()
	r.By[updateName] = &figures{
		Requests: int(updates.Load()), Upstream: used.cpu[apiserverName].Seconds() / float64(w.updates), Own: used.cpu[sluiceName].Seconds() / float64(w.updates),
	}
	return r
}

// scopesAt returns the namespaces of the informers: only Sluice shows a tenant a list across namespaces.
func scopesAt(t *target) (all []string) {
	if t.sluice != nil {
		return []string{metav1.NamespaceAll}
	}
	for i := range tenantMay {
		all = append(all, tenantNamespace(i))
	}
	return all
}

// tenantTransport counts requests, and asks for the namespaces that the tenant may read.
type tenantTransport struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (t tenantTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	r = r.Clone(r.Context())
	r.Header.Set("Sluice-Namespaces", "allowed")
	return t.next.RoundTrip(r)
}

func boolError(ok bool, text string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s", text)
}

func tenantCells(r *row) []string {
	join, update := r.of(joining), r.of(updateName)
	return []string{
		r.Case, r.Target, fmt.Sprint(join.Watches), fmt.Sprint(join.Requests), fmt.Sprintf("%.1f", join.Seconds),
		fmt.Sprintf("%.1f", join.Upstream), fmt.Sprintf("%.1f", join.Own), millis(update.Upstream), millis(update.Own),
	}
}
