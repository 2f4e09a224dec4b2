package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"

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

// runControllers runs the child until ctx ends. It starts it when ready is closed, since the
// controllers give up on an apiserver that takes its time. Should this process die by kill -9,
// the kernel ends the child too. The kernel watches the thread that forked, not the process, hence
// the lock.
func runControllers(ctx context.Context, d directory, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	log, err := os.OpenFile(d.file("controllers.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", controllerFlags(d)...)
	cmd.Args[0] = os.Args[0] // what ps shows
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
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
