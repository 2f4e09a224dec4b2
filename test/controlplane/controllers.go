package main

import (
	"context"

	"k8s.io/component-base/cli"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	// controllerCommand is the hidden sub-command that runs the controllers. They get a process of
	// their own because feature gates, metrics and log flags are global to one.
	controllerCommand = "kube-controller-manager"
	controllerUser    = "system:kube-controller-manager"
)

// controllerManager is the child process: all of kube-controller-manager's main.
func controllerManager(args []string) int {
	cmd := controllers.NewControllerManagerCommand()
	cmd.SetArgs(args)
	return cli.Run(cmd)
}

// runControllers runs the child until ctx ends, once ready is closed.
func runControllers(ctx context.Context, d directory, ready <-chan struct{}) error {
	return runChild(ctx, d, ready, child{log: "controllers.log", args: controllerFlags(d)})
}

func controllerFlags(d directory) []string {
	kubeconfig := d.file(fileName(controllerUser) + ".kubeconfig")
	return []string{
		controllerCommand,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", // there is only one, and a restart should not wait for a lease
		"--secure-port=0",
		"--service-account-private-key-file=" + d.file(serviceAccounts),
		"--root-ca-file=" + d.file(servingCA+".crt"),
		"--cluster-signing-cert-file=" + d.file(clientCA+".crt"),
		"--cluster-signing-key-file=" + d.file(clientCA+".key"),
	}
}
