// Command demo shows Sluice in front of a real control plane full of sample objects: make demo.
//
// It starts bin/controlplane with its controllers and bin/sluice in front of it, creates nodes, pods, their
// owners and services, and custom resources, and then simulates the rest of a cluster: kubelets that keep
// their nodes ready and run the pods bound to them, a scheduler, and containers that restart now and then
// (all of these talk to the apiserver directly), and many clients that watch and list through Sluice. Before
// that it measures what a list of all pods costs either server. It prints commands to try, and the counters of
// both servers side by side until Ctrl-C.
//
// With --record it instead runs some of these commands, draws them and the counters as an SVG, and ends:
// docs/demo.svg, which the README shows.
package main
