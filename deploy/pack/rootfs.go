package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user and group that the image runs as. 65532 is that of distroless images, so that
// policies that expect it fit.
const nonroot = 65532

// home is the working directory. Sluice writes a self-issued certificate below it, unless a volume is
// mounted for that.
const home = "var/lib/sluice"

// baseEntries is all that the image holds besides the binary. There is no shell and no package manager.
func baseEntries() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/" + home + ":/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: home + "/", mode: 0o700, owner: nonroot},
	}
}

// authorities is Mozilla's list of certificate authorities in PEM, pinned by go.sum. A root that Mozilla
// trusts only under constraints is left out: a PEM file cannot express them.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer never fails
		}
	}
	return b.Bytes()
}
