// Package security attacks Sluice in front of the real apiserver. Each test names the CVE, the thread or the
// observation that it repeats.
package security
