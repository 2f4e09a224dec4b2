package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/flowcontrol/priority"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/upstream"
	"sluice/test/harness"
)

// methods are those of the requests that an Upstream sends.
type methods struct {
	mu   sync.Mutex
	sent map[string]int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (m *methods) wrap(_ string, rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		m.mu.Lock()
		m.sent[r.Method]++
		m.mu.Unlock()
		return rt.RoundTrip(r)
	})
}

// The library writes the status of FlowSchemas that refer to no priority level. The apiserver does too, so
// Sluice must not.
func TestPriorityLevelsFollowTheApiserverAndWriteNothing(t *testing.T) {
	apiserver := harness.Start(t)
	sent := &methods{sent: map[string]int{}}
	up, err := upstream.New(upstream.Options{Config: apiserver.RESTConfig("sluice"), Wrap: sent.wrap})
	if err != nil {
		t.Fatal(err)
	}
	registry := resources.New(resources.Options{
		Upstream: up, Log: zap.NewNop(), CheckEvery: time.Hour, Limits: resources.Limits{Idle: time.Hour},
	})
	levels := priority.New(priority.Options{Seats: 600, Wait: time.Minute, Resources: registry, Log: zap.NewNop()})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = registry.Run(ctx) })
	running.Go(func() { _ = levels.Run(ctx) })
	defer func() { cancel(); running.Wait(); up.Close() }()

	admin := apiserver.Client("admin").FlowcontrolV1()
	level, err := admin.PriorityLevelConfigurations().Get(t.Context(), "workload-low", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	level.ObjectMeta = metav1.ObjectMeta{Name: "ours"}
	if _, err := admin.PriorityLevelConfigurations().Create(t.Context(), level, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: "ours"},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "ours"}, MatchingPrecedence: 500,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:      []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: "jane"}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, ClusterScope: true}},
			}},
		},
	}
	if schema, err = admin.FlowSchemas().Create(t.Context(), schema, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	becomes := func(want string) {
		t.Helper()
		harness.Eventually(t, "level of jane", func() error {
			seat, err := levels.Take(t.Context(), listOf(t, "jane"))
			if err != nil {
				return err
			}
			defer seat.Leave()
			if got := executing(t, levels); got != want {
				return fmt.Errorf("level %s, want %s", got, want)
			}
			return nil
		})
	}
	becomes("ours")
	if err := admin.PriorityLevelConfigurations().Delete(t.Context(), "ours", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	becomes("global-default") // the schema has no level
	schema.Spec.PriorityLevelConfiguration.Name = "workload-high"
	if _, err = admin.FlowSchemas().Patch(t.Context(), "ours", "application/merge-patch+json",
		[]byte(`{"spec":{"priorityLevelConfiguration":{"name":"workload-high"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	becomes("workload-high")
	sent.mu.Lock()
	defer sent.mu.Unlock()
	if len(sent.sent) != 1 || sent.sent[http.MethodGet] == 0 {
		t.Errorf("requests sent by method: %v, want GETs only", sent.sent)
	}
}

// executing returns the priority level of the request that has a seat.
func executing(t *testing.T, l *priority.Levels) string {
	t.Helper()
	families, err := l.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "sluice_flowcontrol_current_executing_requests" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetGauge().GetValue() > 0 {
				return m.GetLabel()[1].GetValue() // behind flow_schema
			}
		}
	}
	return ""
}

// listOf returns the request of a user for all nodes.
func listOf(t *testing.T, name string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/nodes", nil)
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	info.Caller, info.Acting = request.BearerToken, &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
	return r.WithContext(request.With(r.Context(), info))
}
