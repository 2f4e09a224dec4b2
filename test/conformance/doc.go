// Package conformance sends the same requests to the apiserver and to Sluice and compares the
// responses: status, the headers of comparedHeaders, and every byte of the body. In CBOR the order
// of map entries is ignored, since the apiserver shuffles them.
//
// The requests are data. testdata/rows has requests whose responses do not change, testdata/scripts
// watches that are open while objects change. Each row states the source of Sluice's response, so
// that a request which passes instead of being served from the cache fails, and the status of the
// apiserver's response, so that a row which tests nothing fails. The objects are in
// testdata/objects.yaml, those of an extension API server in aggregated.yaml.
//
// That apiserver serves CBOR, so that it supports every format. testdata/gate is for apiservers
// that do not: a strict Sluice serves no CBOR either; CBOR of a Sluice that is not strict is
// compared with the apiserver's JSON, encoded by apimachinery's serializers.
package conformance
