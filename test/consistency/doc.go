// Package consistency holds Sluice to the promises of the Kubernetes API while
// everything around it fails.
//
// Writers change small objects directly at a real apiserver. Readers and
// watchers ask Sluice in every way that the API offers, some pages at the
// apiserver itself. Meanwhile the connection between the two is cut, stalled
// and delayed, and the apiserver is stopped, killed and started again, at
// random from a seed. What was acknowledged and what was told is recorded and
// judged by package history against the apiserver's own line of events.
//
//	go test ./test/consistency -consistency.duration=10m -consistency.seed=7
//
// With -consistency.direct the clients ask the apiserver itself: what is found
// then is wrong with the apiserver or with the test.
//
// TestEarlyAnswersAreCaught puts gateways before Sluice which make the known
// mistakes, and expects them to be found out.
package consistency
