// Package wait waits for one of two events, or for a time, until a context ends.
package wait
