// Package consistency tests that Sluice keeps the promises of the Kubernetes API while everything
// around it fails.
//
// Writers change small objects directly at a real apiserver. Readers and watchers send every kind
// of read that the API offers to Sluice, and some pages to the apiserver. Meanwhile the connection
// between the two is cut, stalled and delayed, and the apiserver is stopped, killed and started
// again, at random from a seed. Package history judges the acknowledged writes and the received
// answers against the apiserver's own events.
//
//	go test ./test/consistency -consistency.duration=10m -consistency.seed=7
//
// With -consistency.direct the clients read from the apiserver itself: violations are then faults
// of the apiserver or of the test.
//
// TestPromisesHoldAfterARestoreOfEtcd restores etcd from a backup while Sluice cannot reach the apiserver.
//
// TestJudgeFindsGatewaysThatAnswerTooEarly puts gateways with known mistakes in front of Sluice, and
// expects violations.
package consistency
