// Package response writes the common parts of Sluice's responses: the headers that every response of
// an apiserver has, the content coding of long bodies, their pieces over HTTP/2, and errors as a Status in
// the encoding that the client accepts. Every error that a client sees is written by [Error].
package response
