// Package transcode changes the format of what passes to an apiserver that does not support every
// format of its clients: request bodies in CBOR and YAML, and responses in CBOR, YAML, as Table or
// as metadata, watch streams included.
//
// A request is sent as received. Only if the apiserver refuses a format (406, 415), or responds in
// JSON to a client that does not accept it, does this package act: it sends the request again in
// JSON, at most once for each part that was refused, and transcodes the JSON response.
//
// Invariants: what the apiserver supports is not transcoded; a write is repeated only after a
// refusal that precedes every effect; a response that the apiserver cut is cut for the client; all
// memory that bodies take is taken from the account of the caller before it is allocated.
//
// Tables are made without the columns of the resource, which only its server knows: they have a
// name and an age.
package transcode
