// Package listwatch lists and watches one resource at the apiserver.
//
// A [Client] is the reflector.ListerWatcher of the resource. Each list or streaming list that fills a
// store begins a [Session], which keeps the description by which that store's objects are read and
// is the fence.Apiserver of the store's fence.
//
// Objects are read as Protobuf where their message is compiled in, custom resources as CBOR where the
// apiserver supports it, others as JSON. CBOR is stored as JSON too. A Protobuf object
// with a field that is not compiled in makes the store rebuild from JSON, so that no field is lost.
package listwatch
