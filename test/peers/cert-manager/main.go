// Command cert-manager runs the controllers of cert-manager's cainjector with a kubeconfig, until its input ends.
// For each line of its input it prints an empty one: what it does is in the objects of the cluster.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/cert-manager/cert-manager/pkg/api"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

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
	config.UserAgent = "cainjector" // also the field manager
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	err = errors.Join(scheme.AddToScheme(api.Scheme), apiextensions.AddToScheme(api.Scheme), apiregistration.AddToScheme(api.Scheme))
	if err != nil {
		return err
	}
	// As cainjector's own command: Secrets are read when they are needed, and only their metadata is watched.
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  api.Scheme,
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{EnabledReconcilersFor: map[string]bool{
		cainjector.MutatingWebhookConfigurationName:   true,
		cainjector.ValidatingWebhookConfigurationName: true,
		cainjector.APIServiceName:                     true,
		cainjector.CustomResourceDefinitionName:       true,
	}}); err != nil {
		return err
	}
	go answer(cancel)
	return manager.Start(ctx)
}

// answer answers the lines of the input, and calls end behind the last.
func answer(end func()) {
	defer end()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println()
	}
}
