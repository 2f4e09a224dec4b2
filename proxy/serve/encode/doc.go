// Package encode turns the objects of a store into bytes that many readers share.
//
// [Format] writes objects and the frames of events in one format. [Segments] writes the runs of a state, as the
// items of a list or as initial events, and keeps their text and their compressed blocks with the segments:
//
//	format.go    one format of one resource
//	segments.go  the memos of segments; aged.go those of Tables, whose ages change
//	frames.go    the compressed frames of events
//
// A memo belongs to exactly the objects that its readers may see whole: a segment, or the part of it that a
// selector selects. A caller that may see a part of a segment must not learn the length of the rest from a shared
// compressed block.
package encode
