// Package conformance sends the same requests to the apiserver and to Sluice
// and compares the answers: status, headers that matter, and every byte of the
// body; of CBOR all but the order of maps, which the apiserver shuffles.
//
// The requests are data. testdata/rows holds requests whose answers stand
// still, testdata/scripts watches that are open while objects change. Each says
// whether Sluice must answer it out of its cache, so that a request which
// quietly passes is noticed, and what the apiserver is expected to say, so that
// none tests nothing. The objects are in testdata/objects.yaml, and those of an
// extension server in aggregated.yaml.
//
// That apiserver has CBOR switched on, so that it has every format. testdata/gate
// is for apiservers without: a strict Sluice has none either; of another the
// answers are compared with the apiserver's JSON, encoded by apimachinery's own
// serializers.
package conformance
