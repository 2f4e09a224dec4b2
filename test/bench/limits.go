package main

// unlimited lifts the limits that a single user reaches who is many clients.
const unlimited = `
apiVersion: sluice/v1alpha1
kind: Configuration
limits:
  requestsPerSecond: 1000000
  requestBurst: 1000000
  reads: {total: 100000, perUser: 100000}
  watches: {total: 1000000, perUser: 1000000}
  connections: {total: 100000, perUser: 100000}
`
