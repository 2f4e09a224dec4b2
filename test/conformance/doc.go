// Package conformance sends the same requests to the apiserver and to Sluice
// and compares the answers: status, headers that matter, and every byte of the
// body.
//
// The requests are data: testdata/*.yaml. Each says whether Sluice must answer
// it out of its cache, so that a request which quietly passes is noticed.
package conformance
