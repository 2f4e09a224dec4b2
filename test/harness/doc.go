// Package harness runs tests against a real apiserver: it starts bin/controlplane, provides clients
// for its users, sends raw requests whose responses can be compared byte by byte, and creates
// realistic pods.
//
// A ControlPlane is a running bin/controlplane. Start gives a test its own; StartMain gives a package
// one to share, from TestMain. Users have the names of the kubeconfigs of bin/controlplane: admin,
// reader, nobody and sluice by token, admin-cert, reader-cert and nobody-cert by client certificate.
// All processes end with the test binary, even if it panics.
//
// A Sluice is a running gateway in front of a ControlPlane, started by StartSluice or
// StartSluiceMain. It provides clients and raw requests as the ControlPlane does.
//
// A Guide runs the commands of a document, each block of which has a mark that names the test.
package harness
