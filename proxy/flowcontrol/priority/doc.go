// Package priority decides whose requests go first to the apiserver, by API Priority and Fairness: the
// apiserver's own library, configured by the FlowSchemas and PriorityLevelConfigurations of the cluster.
//
// [Levels.Take] waits for a seat of the priority level that the cluster gives to a request. The library
// classifies requests, divides the seats among the levels, and lends those that a level does not need:
//
//	Take -> controller (library: which level?) -> level (queue.Queue: who next?) -> library: seat
//
// The library counts the time of a request only when the request ends. So accounts that keep their seats
// for long would get the next free ones too, for as long as they have kept the present ones. [level]
// prevents that: within a level requests wait in a queue.Queue, which gives the next seat to the
// account that has the fewest. The library's own queues get a request when a seat is free for it.
//
// A caller that impersonates counts as itself, because it holds the credentials. Its request gets the
// level of the impersonated user only after Sluice has authorized the impersonation: otherwise anybody
// could name a user of an exempt level.
//
// The package only reads the configuration: the client of the library has no connection.
package priority
