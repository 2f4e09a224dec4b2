// Command flux runs a controller upon Flux's runtime with a kubeconfig, until its input or a signal ends it. It marks each Cron
// ready with the number of its replicas, by the runtime's conditions and patches, and holds a finalizer.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/patch"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "peers.example.com/flux"

// Cron is the custom resource that is reconciled.
type Cron struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// CronList is a list of them.
type CronList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cron `json:"items"`
}

func (c *Cron) GetConditions() []metav1.Condition           { return c.Status.Conditions }
func (c *Cron) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

func (c *Cron) copy() *Cron {
	copied := *c
	c.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]metav1.Condition(nil), c.Status.Conditions...)
	return &copied
}

func (c *Cron) DeepCopyObject() runtime.Object { return c.copy() }

func (l *CronList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].copy())
	}
	return &copied
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	group := schema.GroupVersion{Group: "peers.example.com", Version: "v1"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(group, &Cron{}, &CronList{})
	metav1.AddToGroupVersion(scheme, group)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "flux",
		LeaderElectionNamespace:       "peers",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	r := controller.WrapReconciler(&reconciler{manager.GetClient()})
	err = controller.NewControllerManagedBy(manager, r).For(&Cron{}, predicate.GenerationChangedPredicate{}).Complete(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctrl.SetupSignalHandler())
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
	}()
	return manager.Start(ctx)
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	cron := &Cron{}
	if err := r.Get(ctx, request.NamespacedName, cron); err != nil {
		return result, client.IgnoreNotFound(err)
	}
	patcher := patch.NewSerialPatcher(cron, r.Client)
	if cron.DeletionTimestamp.IsZero() {
		controllerutil.AddFinalizer(cron, finalizer)
		conditions.MarkTrue(cron, meta.ReadyCondition, meta.SucceededReason, "%d replicas", cron.Spec.Replicas)
	} else {
		controllerutil.RemoveFinalizer(cron, finalizer)
	}
	return result, patcher.Patch(ctx, cron, patch.WithOwnedConditions{Conditions: []string{meta.ReadyCondition}},
		patch.WithStatusObservedGeneration{}, patch.WithFieldOwner("flux"))
}
