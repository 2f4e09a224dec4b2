// Package harness lets tests run against the real apiserver: it starts bin/controlplane, hands out
// clients for its users, sends raw requests whose answers can be compared byte by byte, and fills
// the server with realistic objects.
//
// A ControlPlane is one running bin/controlplane. Start gives a test its own; StartMain gives a
// package one to share, from TestMain. Users are named as bin/controlplane names their kubeconfigs:
// admin, reader, nobody and sluice by token, admin-cert, reader-cert and nobody-cert by client
// certificate. Nothing outlives the test binary, even if it panics.
//
// A Sluice is a running gateway in front of one, by StartSluice or StartSluiceMain; it hands out
// clients and raw requests as the ControlPlane does. Main is the TestMain of packages whose tests
// wait for servers.
package harness
