// Package see opens the status page of a Sluice before a real apiserver in a browser. It contains only tests.
package see
