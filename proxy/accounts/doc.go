// Package accounts counts what callers hold of the process: connections, memory, requests to the
// apiserver. Every resource that a caller can hold is a row of one table ([Resource]), with a total that
// follows from the machine ([Totals]); what all of them take of the memory is bounded together.
//
// Work is conserved: a caller may use what nobody else needs. A share binds only when a total is scarce,
// and then between those who compete. What can be taken back is taken from the account that holds the
// most ([Account.TakeRevocable]); of what cannot, an account may hold at most three times what it leaves
// free ([Account.Take]), so that there is always something left for others.
//
// A caller is its address until it is authenticated, and its user from then on. The service accounts of a
// namespace are one group: whoever may create service accounts gains no share by it.
//
// An account counts, it does not wait: [sluice/proxy/queue] is for that.
package accounts
