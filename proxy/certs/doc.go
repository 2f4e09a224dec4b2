// Package certs provides the serving certificate: a [Reloader] follows the
// files of one that is given, [Ensure] makes one, with its own CA, where none is.
package certs
