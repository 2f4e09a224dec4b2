// Package clients counts the costs of clients at the apiserver: for each client, the price of its requests without Sluice,
// and of those that passed.
//
// A [Table] has a row for each user, agent, resource and namespace, for at most 2,048 of them. When it is full, the lightest row
// makes room, and its counts are added to everything else (Space-Saving): so a row is exact since it exists, and the rows and
// everything else together are all requests. A request is added once, when it ends; a watch every few seconds.
//
// Prices are of CPU time of the apiserver, out of one table (prices.go). The results are lower bounds, by estimate.
package clients
