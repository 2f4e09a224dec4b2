// Package tree holds objects in the order of their keys, in immutable trees that share the parts they have in
// common. It knows no resource versions of states and no events: package cache does.
//
// A [Tree] is a persistent B+ tree. Its leaves are segments of neighboring objects; an update copies one
// [Segment] and the path to it. An index is a second tree, ordered by the value of one field. Readers
// get runs: a [Run] is the objects of one segment that are read together. [Run.Memo] memoizes encodings
// of a run in the [Memos] of its segment, and a [Budget] bounds the memory of all memos. [Terms] let a selection
// skip most segments and objects that it does not want, by indexes that are memos too.
//
// Objects and segments must never be changed once a tree has them.
package tree
