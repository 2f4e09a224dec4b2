// Package flowcontrol limits what callers may use of the process: connections, requests being served,
// open watches, and requests per second, each in total and per user.
//
// [Control.WithFlowControl] is a filter behind authentication. It admits a request, lets it wait in a
// fair queue, or answers 429 with Retry-After. Requests belong to classes with places of their own
// ([Class]), so that lists and watches never take the places of writes, nor anything those of leases.
// [Upstream] bounds in the same way what is passed to the apiserver, [Connections] limits connections,
// [SlowReaders] the memory that open responses hold, and [CPU] shares the processors among users with long
// responses.
//
// A queue resembles a priority level of API Priority and Fairness with one queue per user, served in
// turn, instead of shuffle sharding: users number thousands here, so exact queues are affordable.
package flowcontrol
