// Package admin is the listener for those who run Sluice: health checks,
// metrics and profiles. Requests for /livez and the like on the API listener
// are the upstream's and pass.
package admin
