// Package see opens the status page of a Sluice in front of a real apiserver in a browser. It contains only tests.
package see
