// Package transcode writes responses in formats that the apiserver behind Sluice does not support: in CBOR, in YAML, as
// Table or as metadata, watch streams included.
//
// A request is sent as received. Only if the apiserver refuses the format of the response (406), or responds in JSON to a
// client that does not accept it, does this package act: it sends the request again for JSON, once, and transcodes the JSON
// response. The format of request bodies is between the client and the apiserver.
//
// Invariants: formats that the apiserver supports are not transcoded; a write is repeated only after a
// refusal that precedes every effect; a response that the apiserver cut is cut for the client; all
// memory that bodies take is taken from the account of the caller before it is allocated.
//
// Tables are made without the columns of the resource, which only its server knows: they have a
// name and an age.
package transcode
