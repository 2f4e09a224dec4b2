// Package connections counts the connections of clients, and what they hold that no request counts.
//
// A [Limiter] has new connections wait while there are too many whose clients are not authenticated, and closes those that
// wait for their clients in favor of others. [ConnContext], [WithConnection] and [ServeHTTP2] make an http.Server use it.
// Functions of the context of a request, such as [Assign] and [UserOf], do nothing if its connection is not counted.
package connections
