// Package accept provides a listener of connections that others hand to it.
package accept
