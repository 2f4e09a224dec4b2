// Package splice makes one compressed stream from blocks that were compressed separately, so that a
// response whose parts are cached needs no compression at all.
//
// A [Block] is a run of bytes, compressed so that it does not refer to earlier bytes and ends at a
// byte boundary. In [Gzip] it consists of deflate blocks, with their length and CRC-32 for the
// trailer of the stream. In [Zstd] it is a frame. A [Stream] is a sequence of blocks. A client can
// decompress each block once it has arrived, and a gzip client sees a single member.
//
// Invariants:
//
//   - A Block must not be changed. It may be part of any number of streams at the same time.
//   - A stream must be a valid gzip file (RFC 1952) or sequence of zstd frames (RFC 8878).
//
// The package does not know the meaning of the bytes. Callers must not put bytes for users with
// different permissions into one Block: the compressed length would disclose one to the other.
package splice
