// Package admin is the handler of the admin listener: health checks, metrics and profiles of Sluice
// itself. Requests for the same paths on the API listener are forwarded to the apiserver.
package admin
