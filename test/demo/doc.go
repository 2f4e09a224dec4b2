// Command demo shows Sluice at work, before a real control plane that it fills with samples: make demo.
//
// It starts bin/controlplane with its controllers and bin/sluice before it, makes nodes, pods, what
// owns and serves them, and custom resources, and then plays the parts that a cluster needs to be
// alive: kubelets that keep their nodes ready and run what is bound to them, a scheduler, workloads
// that restart now and then (all of these talk to the apiserver directly), and a crowd of clients that
// watch through Sluice. It prints commands to try and the counters of both servers until Ctrl-C.
//
// Everything lives in one directory, .demo, which is locked while the demo runs and gone afterwards;
// what a killed demo left there is cleared away by the next.
package main
