// Package history holds what clients of one resource wrote and were told, and
// judges it against the promises of the Kubernetes API.
//
// A [History] is the [Log] of what really happened to the resource, the
// [Write]s that were acknowledged, and the answers that clients were given: a
// [Read] for a list in any form, a [Get] for one object, a [Watch] for a line
// of events that may go over several connections. [Check] returns what breaks
// a promise:
//   - a consistent read must show every write that was acknowledged before it
//     began, and no version older than one that anybody was told before;
//   - a list must be the state at its version, object for object, and its pages
//     must be one state;
//   - a version must not be told before it exists;
//   - a watch must deliver every change of its scope once, in order and with
//     the content that the change had, and a bookmark must not claim more.
//
// Time is that of one logical [Clock]: only the order of moments counts.
//
// The package knows no HTTP and does not record anything itself.
package history
