// Package signals tests what Sluice tells machines about itself, before a real apiserver. It contains only tests.
package signals
