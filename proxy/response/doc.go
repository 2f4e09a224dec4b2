// Package reply writes what Sluice itself answers with: the headers that every
// response of an apiserver has, the content coding of a long answer, and errors
// as a Status in the encoding the client can read. It is the one place where a
// client-visible error is made.
package response
