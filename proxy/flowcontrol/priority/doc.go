// Package priority decides whose requests go first to the apiserver, by API Priority and Fairness: the
// apiserver's own library, configured by the FlowSchemas and PriorityLevelConfigurations of the cluster.
//
// [Levels.Take] waits for a [Seat] of the priority level that the cluster gives to a request. The library
// classifies requests, divides the seats among the levels, lends those that a level does not need, and
// queues requests within a level by shuffle sharding:
//
//	Take -> controller (library: which level?) -> level -> queues (library: who next?) -> Seat
//	                                                |
//	                                                +- accounts that have their share already
//	                                                   wait here, in turn
//
// The library counts the time of a request only when the request ends. So accounts that keep their seats
// for long would get the next free ones too, for as long as they have kept the present ones. [level]
// prevents that: it hands a request to the library's queues if a seat is free, or if the account of the
// caller has less than its share of the level. An account is a user, or all service accounts of a
// namespace, or all unauthenticated callers.
//
// A caller that impersonates counts as itself, because it holds the credentials. Its request gets the
// level of the impersonated user only after Sluice has authorized the impersonation: otherwise anybody
// could name a user of an exempt level.
//
// The package only reads the configuration: the client of the library has no connection.
package priority
