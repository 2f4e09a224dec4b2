package table

import (
	"bytes"
	"time"

	"sluice/codec/json"
)

var eventsGroup = group{"events.k8s.io", []kind{
	{"Event", versions("v1"), newEvent},
}}

// eventFields are the names of an event's fields, which differ between the two API groups. Both
// groups store the same objects.
type eventFields struct {
	first, last, count, target, source, message, controller string
}

var (
	coreEvent = eventColumns(eventFields{
		first:      "firstTimestamp",
		last:       "lastTimestamp",
		count:      "count",
		target:     "involvedObject",
		source:     "source",
		message:    "message",
		controller: "reportingComponent",
	})
	newEvent = eventColumns(eventFields{
		first:      "deprecatedFirstTimestamp",
		last:       "deprecatedLastTimestamp",
		count:      "deprecatedCount",
		target:     "regarding",
		source:     "deprecatedSource",
		message:    "note",
		controller: "reportingController",
	})
)

func eventColumns(f eventFields) *Columns {
	return newColumns(
		text("Last Seen", quoted(f.lastSeen)),
		text("Type", str("type")),
		text("Reason", str("reason")),
		text("Object", quoted(f.object)),
		wide(text("Subobject", str(f.target, "fieldPath"))),
		wide(text("Source", quoted(f.reporter))),
		text("Message", quoted(f.trimmed)),
		wide(text("First Seen", quoted(f.firstSeen))),
		wide(text("Count", f.times)),
		wide(nameColumn),
	)
}

// firstTime returns when the event was first recorded: its first timestamp, which new events do not
// have, or its event time.
func (f eventFields) firstTime(r *row) time.Time {
	if t := timeOf(r.object.Get(f.first)); !t.IsZero() {
		return t
	}
	return timeOf(r.object.Get("eventTime"))
}

func (f eventFields) firstSeen(dst []byte, r *row) []byte {
	return r.appendAge(dst, f.firstTime(r))
}

// lastSeen prints the last time from the event's series if there is one.
func (f eventFields) lastSeen(dst []byte, r *row) []byte {
	if s := r.object.Get("series"); present(s) {
		return r.appendSince(dst, s.Get("lastObservedTime"))
	}
	if t := timeOf(r.object.Get(f.last)); !t.IsZero() {
		return r.appendAge(dst, t)
	}
	return f.firstSeen(dst, r)
}

// times prints how often the event occurred; without a count that is once.
func (f eventFields) times(dst []byte, r *row) []byte {
	if s := r.object.Get("series"); present(s) {
		return appendInt(dst, s.Get("count"))
	}
	if n := r.object.Get(f.count); intOf(n) != 0 {
		return appendInt(dst, n)
	}
	return append(dst, '1')
}

// object prints "kind/name" of the object that the event is about.
func (f eventFields) object(dst []byte, r *row) []byte {
	target := r.object.Get(f.target)
	dst = append(dst, bytes.ToLower(bytesOf(target.Get("kind")))...)
	if name := target.Get("name"); !empty(name) {
		dst = appendScalar(append(dst, '/'), name)
	}
	return dst
}

// reporter prints "component, host", each from the source or else from the reporting controller and
// its instance.
func (f eventFields) reporter(dst []byte, r *row) []byte {
	source := r.object.Get(f.source)
	dst = appendScalar(dst, filled(source.Get("component"), r.object.Get(f.controller)))
	if host := filled(source.Get("host"), r.object.Get("reportingInstance")); !empty(host) {
		dst = appendScalar(append(dst, ", "...), host)
	}
	return dst
}

func (f eventFields) trimmed(dst []byte, r *row) []byte {
	return append(dst, bytes.TrimSpace(bytesOf(r.object.Get(f.message)))...)
}

// filled returns a unless it is empty, else b.
func filled(a, b json.Value) json.Value {
	if empty(a) {
		return b
	}
	return a
}
