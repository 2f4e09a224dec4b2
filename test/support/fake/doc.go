// Package fake is an apiserver that misbehaves, for tests of what reads from it. How an apiserver
// behaves is tested against a real one.
//
// An [APIServer] serves one [Resource] by a script: each [Step] responds to one call. It serves real
// HTTP, over connections in memory where time is that of a synctest bubble.
package fake
