// Package outcome holds the outcomes of a read: the reasons of a response from the cache, and the errors
// with which a stage of proxy/serve ends a read that gets none.
//
//	Hit        the cache shows the read
//	Pass       it passes to the apiserver
//	Forwarded  it passes although the cache might show it
//	Refused    it is answered with an error here
//
// A stage that returns one of the errors has neither written nor set a header.
package outcome
