package main

import (
	"context"

	"k8s.io/component-base/cli"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	// controllerCommand is the hidden subcommand that runs the controllers. They need a separate
	// process because feature gates, metrics and log flags are global.
	controllerCommand = "kube-controller-manager"
	controllerUser    = "system:kube-controller-manager"
)

// controllerManager is the main function of the child process.
func controllerManager(args []string) int {
	cmd := controllers.NewControllerManagerCommand()
	cmd.SetArgs(args)
	return cli.Run(cmd)
}

// runControllers runs the child until ctx ends, once ready is closed.
func runControllers(ctx context.Context, d directory, ready <-chan struct{}) error {
	kubeconfig := d.file(fileName(controllerUser) + ".kubeconfig")
	return runChild(ctx, d, ready, child{log: "controllers.log", args: []string{
		controllerCommand,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", // there is one instance, and a restart must not wait for a lease
		"--secure-port=0",
		"--service-account-private-key-file=" + d.file(serviceAccounts),
		"--root-ca-file=" + d.file(servingCA+".crt"),
		"--cluster-signing-cert-file=" + d.file(clientCA+".crt"),
		"--cluster-signing-key-file=" + d.file(clientCA+".key"),
	}})
}
