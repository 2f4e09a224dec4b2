// Package feed keeps the store of one resource equal to the upstream's state.
//
// A [Reflector] reads a [ListerWatcher]: the complete state first (as a streaming list
// where the upstream has it, else as a list), then every change after it. It
// publishes a store once it is in sync and resumes a broken stream from the
// last version. When history has been lost it withdraws the store, which ends
// the watches that read it, and starts again: a new store is a new line of
// history.
//
// How the bytes come from the upstream is the ListerWatcher's business.
package reflector
