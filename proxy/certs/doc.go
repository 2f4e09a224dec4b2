// Package certs provides the serving certificates: [Reloader] follows the files of a certificate,
// [Selector] chooses one by server name, and [Ensure] issues one from a CA of its own when none is
// configured, which [Renew] renews. [CA] follows the file of a CA of client certificates.
package certs
