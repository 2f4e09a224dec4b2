// Package splice makes one compressed stream out of pieces that were compressed before, each by itself, so that a long
// response whose pieces are known costs no compression at all.
//
// A [Block] is a run of bytes compressed so that it refers to nothing before it and ends at a byte boundary. In [Gzip] it
// is deflate blocks together with what a gzip trailer needs of it: length and CRC-32. In [Zstd] it is a frame. A [Stream] is
// blocks one after the other, of a list or a watch: each can be unpacked when it has arrived, and all of them are one
// member to a gzip reader.
//
// Invariants. A Block must not be changed once made, and may be used in any number of streams at once. What comes out is
// a plain gzip file (RFC 1952) or a sequence of zstd frames (RFC 8878) that every reader accepts.
//
// The package does not know what the bytes are. Its caller must not put into one Block what belongs to readers of
// different rights: the compressed length would tell one about the other.
package splice
