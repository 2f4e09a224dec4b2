// Package architecture checks which package imports which. It contains only tests.
package architecture
