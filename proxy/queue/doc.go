// Package queue lets requests and connections wait for scarce places, in an order that is fair to the accounts that they
// count for.
//
// A [Queue] gives out places, and a [Ticket] is a request at it: one that waits for its places, or has them.
package queue
