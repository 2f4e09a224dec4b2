// Package splice makes one compressed stream out of pieces that were compressed before, each by itself, so that a long
// response whose pieces are known costs no compression at all.
//
// A [Block] is a run of bytes as deflate blocks that refer to nothing before them and end at a byte boundary, together
// with what a gzip trailer needs of it: length and CRC-32. A [Gzip] is a stream under construction: blocks by reference,
// small plain parts between them, and at the end a trailer whose CRC is combined from theirs; its length is known before
// a byte is written. [AppendMember] makes a gzip stream of a single piece, which may follow another: an event of a watch.
// [AppendFrame] does for zstd what both do for gzip, since zstd frames concatenate by themselves.
//
// Invariants. A Block must not be changed once made, and may be used in any number of streams at once. What comes out is
// a plain gzip file (RFC 1952) or a sequence of zstd frames (RFC 8878) that every reader accepts.
//
// The package does not know what the bytes are. Its caller must not put into one Block what belongs to readers of
// different rights: the compressed length would tell one about the other.
package splice
