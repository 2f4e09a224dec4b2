// Package signals tests what Sluice tells machines about itself, with a real apiserver. It contains only tests.
package signals
