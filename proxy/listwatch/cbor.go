package listwatch

import (
	"io"

	"sluice/codec/cbor"
	"sluice/codec/json"
)

// cborEncoding reads CBOR as JSON whose whole-number floats end in .0. Its objects are in that form.
type cborEncoding struct{ jsonEncoding }

func (c cborEncoding) list(body []byte) (list, error) {
	text, err := cbor.AppendJSON(nil, body)
	if err != nil {
		return list{}, err
	}
	return c.jsonEncoding.list(text)
}

func (cborEncoding) events(body io.Reader, _ int) eventReader {
	limit := &limitReader{in: body}
	return &cborEvents{limit: limit, in: cbor.NewSequence(limit)}
}

// cborEvents reads the events of a watch in CBOR.
type cborEvents struct {
	limit *limitReader
	in    *cbor.Sequence
	event []byte // reused
}

func (c *cborEvents) next() (string, []byte, error) {
	if cap(c.event) > keptBuffer {
		c.event = nil
	}
	c.limit.left = frameLimit
	item, err := c.in.Next()
	if err != nil {
		if !c.limit.ended {
			err = malformed(err)
		}
		return "", nil, err
	}
	if c.event, err = cbor.AppendJSON(c.event[:0], item); err != nil {
		return "", nil, malformed(err)
	}
	eventType, _ := json.Value(c.event).Get("type").Text()
	return eventType, json.Value(c.event).Get("object"), nil
}
