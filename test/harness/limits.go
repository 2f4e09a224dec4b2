package harness

// Unlimited is a configuration for tests in which one user is many clients: it lifts the limits per
// user that they would reach together.
const Unlimited = `
apiVersion: sluice/v1alpha1
kind: Configuration
limits:
  requestsPerSecond: 1000000
  requestBurst: 1000000
  reads: {total: 100000, perUser: 100000}
  watches: {total: 1000000, perUser: 1000000}
  connections: {total: 100000, perUser: 100000}
`
