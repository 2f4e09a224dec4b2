// Package handshake says why TLS handshakes of clients fail.
package handshake
