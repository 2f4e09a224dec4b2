// Node contains the programs of a Kubernetes node and the scheduler in one binary, because they share
// nearly all of their packages: the first argument selects the program, the others are its flags.
//
//	node kubelet|kube-proxy|kube-scheduler FLAGS
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as the main functions of the three programs do
	_ "k8s.io/component-base/metrics/prometheus/version"  // as the main functions of the three programs do
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs holds constructors, because each command changes process-wide flags and feature gates.
var programs = map[string]func() *cobra.Command{
	"kubelet":        func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy":     func() *cobra.Command { return proxy.NewProxyCommand() },
	"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-proxy|kube-scheduler FLAGS")
		os.Exit(2)
	}
	cmd := programs[os.Args[1]]()
	cmd.SetArgs(os.Args[2:])
	os.Exit(cli.Run(cmd))
}
