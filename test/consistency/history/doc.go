// Package history holds what the clients of one resource wrote and received, and judges it against
// the promises of the Kubernetes API.
//
// A [History] has the [Log], which is the ground truth of the resource, each acknowledged [Write],
// and the answers that clients received: a [Read] for a list in any form, a [Get] for one object, a
// [Watch] for a sequence of events over several connections. [Check] returns the violations:
//   - a consistent read must show every write that was acknowledged before it began, and must not
//     have an older version than any client observed before;
//   - a list must be the state at its version, object for object, and all of its pages must be of
//     one state;
//   - a version must not be delivered before it exists;
//   - a watch must deliver every event of its scope once, in order and with the content of the log,
//     and a bookmark must not have a version whose events were not delivered.
//
// Time is one logical [Clock]: only the order of moments counts.
//
// The package does not know HTTP and does not record anything itself.
package history
