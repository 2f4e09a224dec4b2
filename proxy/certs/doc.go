// Package certs provides the serving certificate: [Reloader] follows the files of a certificate, and
// [Ensure] issues one from a CA of its own when none is configured.
package certs
