package clients

import "time"

// PricesOf says which apiserver the prices are of, and when they were measured.
const PricesOf = "kube-apiserver 1.37.2 of 2026-11-23"

// Format is how a response is encoded, as far as its price depends on it.
type Format uint8

// The formats. Of the others, the price is the least.
const (
	InOther Format = iota
	InJSON
	InProtobuf
	InTable
)

// perByte is the price of a list for each byte: plain, with gzip for each byte before compression, and with gzip for
// each byte that is sent. docs/performance/lists.json: the median CPU of one list of 10,000 pods, by its length.
var perByte = [...]struct{ plain, gzip, sent float64 }{ // nanoseconds
	InOther:    {318.6e6 / 51.8e6, 304.2e6 / 51.8e6, 304.2e6 / 4.9e6},
	InJSON:     {647.3e6 / 75.7e6, 608.5e6 / 75.7e6, 608.5e6 / 7.1e6},
	InProtobuf: {318.6e6 / 51.8e6, 304.2e6 / 51.8e6, 304.2e6 / 4.9e6},
	InTable:    {426.7e6 / 40.6e6, 451.4e6 / 40.6e6, 451.4e6 / 1.8e6},
}

const (
	// perRequest is the price of a request besides: 0.27 to 0.41 ms for a get or a short list.
	perRequest = 250 * time.Microsecond
	// perScanned is for each object that is looked at and not returned: 0.47 to 0.69 ms for 2,000 pods without the label.
	perScanned = 100 * time.Nanosecond
	// perEvent is for each event of a pod that is sent to a watch (docs/performance.md, plain watches).
	perEvent = 25 * time.Microsecond
)

// worth returns the price of a part of a request, if the apiserver answers it. Bytes are the length of a response before
// compression, or as it was sent if the apiserver has compressed it.
func (u *Use) worth() time.Duration {
	p, bytes := perByte[u.Format], u.Encoded
	each := p.plain
	switch {
	case u.Compressed && u.Source == ByCache:
		each = p.gzip
	case u.Compressed:
		each, bytes = p.sent, u.Sent
	}
	if u.Verb == Watch && u.Source == ByCache { // events have a price of their own
		bytes, each = u.Listed, perByte[InOther].plain
	}
	d := time.Duration(each*float64(bytes)) + time.Duration(u.Scanned)*perScanned + time.Duration(u.Events)*perEvent
	if u.Ended {
		d += perRequest
	}
	return d
}

// EventsWorth is the price of events, in seconds of its CPU.
func EventsWorth(n float64) float64 { return n * perEvent.Seconds() }

// perReview is more than a review takes: Sluice's own requests are not to look cheap.
const perReview = time.Millisecond

// ReviewsWorth is an upper bound of the price of reviews.
func ReviewsWorth(n float64) float64 { return n * perReview.Seconds() }
