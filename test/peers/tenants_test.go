package peers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

const (
	tenantNamespaces, tenantMay = 400, 30
	tenantPods                  = 5  // in each namespace
	tenantClients               = 20 // of client-go
	tenantName                  = "system:serviceaccount:" + namespace + ":tenant"
)

// tenantReader is a program of a tenant: start has it read some namespaces each for itself, or across all if there are none.
type tenantReader struct {
	name  string
	build func(*testing.T) string
	start func(t *testing.T, program, kubeconfig string, namespaces []string) shows
}

var tenantReaders = []tenantReader{
	{"kubectl get pods", func(t *testing.T) string { return harness.Program(t, "kubectl") }, kubectlOf},
	{fmt.Sprint(tenantClients, " clients of client-go, five kinds"), func(*testing.T) string { return "" }, informersOf},
	{"kube-state-metrics " + stateMetricsVersion, readers[0].build, func(t *testing.T, program, kubeconfig string, namespaces []string) shows {
		return kubeStateMetrics(t, program, kubeconfig, "--resources=configmaps,deployments,jobs,pods,services", "--namespaces="+strings.Join(namespaces, ","))
	}},
	{"Argo CD, gitops-engine", goProgram("gitops-engine"), func(t *testing.T, program, kubeconfig string, namespaces []string) shows {
		return answers(start(t, program, kubeconfig, strings.Join(namespaces, ",")))
	}},
	// k9s asks for its rights first, and reads no namespaces together without those for all of them.
	{"k9s " + k9sVersion + ", one namespace", ofModule("github.com/derailed/k9s", k9sVersion), func(t *testing.T, program, kubeconfig string, _ []string) shows {
		return k9sView(t, program, kubeconfig, "pods", tenantNamespace(0))
	}},
}

// Programs of a tenant show across namespaces through Sluice what they show of each namespace at the apiserver.
func TestTenantsSeeAcrossWhatTheySeeInEachNamespace(t *testing.T) {
	if os.Getenv("PEERS") == "" {
		t.Skip("PEERS is not set: run make test-clients")
	}
	defer clean(t)
	atRest() // before anything reads
	token, may := makeTenant(t)
	e := newEnv(t, "apiVersion: sluice/v1alpha1\nkind: Configuration\nauthorization: {allowedNamespaces: {users: ['"+tenantName+"']}}", token)
	for _, r := range tenantReaders {
		t.Run(r.name, func(t *testing.T) {
			program := r.build(t)
			var each, across shows
			mark := "tenant-" + fmt.Sprint(time.Now().UnixNano())
			change(t, "run --image=pause -n "+may[0]+" "+mark)
			direct := e.spent(t, e.direct, func() { each = r.start(t, program, e.directly, may); each.wait(t, mark) })
			first := e.spent(t, e.upstream, func() { across = r.start(t, program, e.through, nil); across.wait(t, mark) })
			across.stop()
			next := e.spent(t, e.upstream, func() { across = r.start(t, program, e.through, nil); across.wait(t, mark) })
			same(t, each, across, mark)
			change(t, "run --image=pause -n "+may[0]+" last-"+mark)
			same(t, each, across, "last-"+mark)
			each.stop()
			across.stop()
			e.idle(t)
			t.Logf("TENANT | %s | %s | %s | %s |", r.name, direct, first, next)
		})
	}
}

func tenantNamespace(i int) string { return fmt.Sprintf("tenant-%03d", i) }

// makeTenant makes namespaces with pods, and a service account that may view some of them. It returns its token and those.
func makeTenant(t *testing.T) (token string, may []string) {
	plane.MustCreate(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts", `{"metadata":{"name":"tenant"}}`)
	subject := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "tenant"}}
	others := harness.MayRead("apps", "*")
	others.APIGroups = append(others.APIGroups, "batch", "networking.k8s.io")
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range tenantNamespaces {
		ns := tenantNamespace(i)
		if i < tenantMay {
			may = append(may, ns)
		}
		g.Go(func() error {
			err := plane.Create(ctx, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, ns))
			if err == nil {
				err = plane.CreatePods(ctx, harness.Pods(tenantPods, ns, uint64(i)))
			}
			if err == nil && i < tenantMay {
				_, err = plane.Bind(ctx, ns, subject, harness.MayRead("", "configmaps", "endpoints", "pods", "services"), others)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	accounts := plane.Client("admin").CoreV1().ServiceAccounts(namespace)
	issued, err := accounts.CreateToken(t.Context(), "tenant", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Status.Token, may
}

// spending is what an act cost the apiserver.
type spending struct {
	took                  time.Duration
	connections, requests int64
	cpu                   time.Duration
}

func (s spending) String() string {
	return fmt.Sprintf("%d, %d, %.2f s, %.1f s", s.connections, s.requests, s.cpu.Seconds(), s.took.Seconds())
}

// spent measures what an act cost the apiserver whose connections to it go through a link.
func (e *env) spent(t *testing.T, l *wire.Link, act func()) (s spending) {
	t.Helper()
	begin := time.Now()
	connections, requests := l.Accepted.Load(), e.requests(t)
	s.cpu = measure(t, l, act).cpu
	s.took = time.Since(begin)
	s.connections, s.requests = l.Accepted.Load()-connections, e.requests(t)-requests
	return s
}

// requests returns how many requests the apiserver has answered or answers: reads and reviews, without those of leases and
// metrics, which it makes at rest.
func (e *env) requests(t *testing.T) (n int64) {
	t.Helper()
	const ended, running = "apiserver_request_total", "apiserver_longrunning_requests"
	m, err := plane.Metrics(t.Context(), ended, running)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(m.Samples(ended), m.Samples(running)...) {
		if s.Labels["resource"] != "" && s.Labels["resource"] != "leases" {
			n += int64(s.Value)
		}
	}
	return n
}

// kubectlOf runs kubectl for each output.
func kubectlOf(t *testing.T, program, kubeconfig string, namespaces []string) shows {
	scopes := map[string]string{"--all-namespaces": ""} // what their rows begin with besides
	if namespaces != nil {
		clear(scopes)
		for _, ns := range namespaces {
			scopes["--namespace="+ns] = ns + " "
		}
	}
	return shows{func() (string, error) {
		var rows []string
		for scope, prefix := range scopes {
			cmd := exec.CommandContext(t.Context(), program, "--kubeconfig="+kubeconfig, "get", "pods", "--no-headers", scope)
			cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(kubeconfig))
			out, err := cmd.Output()
			if err != nil {
				return "", err
			}
			for line := range strings.Lines(string(out)) {
				columns := strings.Fields(prefix + line)
				rows = append(rows, strings.Join(columns[:len(columns)-1], " ")) // without the age
			}
		}
		slices.Sort(rows)
		return strings.Join(rows, "\n"), nil
	}, func() {}}
}

// informersOf starts the informers of several clients, each with a connection of its own.
func informersOf(t *testing.T, _, kubeconfig string, namespaces []string) shows {
	ctx, stop := context.WithCancel(t.Context())
	var stores []cache.Store
	var factories []informers.SharedInformerFactory
	if namespaces == nil {
		namespaces = []string{metav1.NamespaceAll}
	}
	for range tenantClients {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return next }) // with a connection of its own
		client := kubernetes.NewForConfigOrDie(config)
		for _, ns := range namespaces {
			f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns))
			stores = append(stores, f.Core().V1().Pods().Informer().GetStore())
			f.Core().V1().ConfigMaps().Informer()
			f.Core().V1().Services().Informer()
			f.Apps().V1().Deployments().Informer()
			f.Batch().V1().Jobs().Informer()
			f.Start(ctx.Done())
			factories = append(factories, f)
		}
	}
	return shows{func() (string, error) {
		for _, f := range factories {
			f.WaitForCacheSync(ctx.Done())
		}
		var keys []string
		for _, s := range stores {
			keys = append(keys, s.ListKeys()...)
		}
		return sorted(strings.Join(keys, "\n"), "\n"), nil
	}, func() {
		stop()
		for _, f := range factories {
			f.Shutdown()
		}
	}}
}
