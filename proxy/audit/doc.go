// Package audit records the requests that the apiserver's audit log lacks as audit.k8s.io/v1 Events at the level
// Metadata, in the form of the apiserver's own log backend.
//
// A request never waits for the log: [Log] queues events in a bounded amount of memory, and drops and
// counts those that do not fit.
package audit
