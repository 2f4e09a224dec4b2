// Command demo shows Sluice in front of a real apiserver full of sample objects: make demo.
//
// It starts bin/controlplane and bin/sluice in front of it, creates pods, ConfigMaps and custom resources, and
// measures what a list of all pods costs either server. Then containers restart and backups end now and then, at
// the apiserver, while many clients watch and list through Sluice. It prints commands to try, and the counters of
// both servers side by side until Ctrl-C.
//
// With --record it instead runs some of these commands, draws them and the counters as an SVG, and ends:
// docs/demo.svg, which the README shows.
package main
