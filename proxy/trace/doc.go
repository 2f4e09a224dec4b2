// Package trace records the waits of requests as OpenTelemetry spans.
//
// A span is recorded only under that of a sampled request, which the context carries. Without one nothing is allocated.
// No span has anything in it that a client has made up: no object, path, query, header, or name of a user.
package trace
