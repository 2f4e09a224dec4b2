// Package clients says who costs the apiserver what: for each client, what its requests would have cost without Sluice,
// and what those cost that passed.
//
// A [Table] has a row for each user, agent, resource and namespace, for at most 2,048 of them. When it is full, the lightest row
// makes room, and what it had is added to everything else (Space-Saving): so a row is exact since it exists, and the rows and
// everything else together are all requests. A request is added once, when it ends; a watch every few seconds.
//
// Prices are of CPU time of the apiserver, out of one table (prices.go). What they yield is an estimate, and at least so much.
package clients
