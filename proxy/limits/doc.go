// Package limits bounds the use of Sluice and of the apiserver by callers: bytes, places and connections.
//
// A [Ledger] counts the memory that callers hold by prices (memory.go), and a [Valve] reads what the process really uses. A
// [Listener] bounds connections without an authenticated request. A [Queue] gives out places, for which callers wait: at the apiserver, for reviews, for the processors. Each queue is a total;
// callers are told apart only where they compete for it.
package limits
