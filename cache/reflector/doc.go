// Package reflector keeps the store of one resource equal to the state of the apiserver, as
// client-go's reflector does.
//
// A [Reflector] lists and watches through a [ListerWatcher]. It first reads the complete state, as
// a streaming list if the apiserver supports it and else as a list, and publishes a store of it. It
// then applies each event of the watch, and resumes a broken watch from the version of the store.
// When events may have been lost, the session ends: the reflector unpublishes and closes the store,
// which ends the watches that read it, and starts a new session with a new store.
//
// Requests and encodings are the business of the ListerWatcher.
package reflector
