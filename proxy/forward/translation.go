package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"sluice/codec"
	"sluice/proxy/request"
)

// maxSends is how often a request is sent at most: as it came, in JSON after
// an answer was refused, and in JSON after the body was.
const maxSends = 3

// refusalBytes is how much of a refusal is read so that its connection can be
// used again.
const refusalBytes = 16 << 10

// translatable reports whether the request is one for API objects. What goes
// through the apiserver to somebody else is not touched, nor is discovery: of
// that no apiserver makes CBOR, whatever its gates.
func translatable(r *http.Request, info *request.Info) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	if info.Upgrade || !info.IsResourceRequest || info.Verb == "proxy" {
		return false
	}
	switch info.Subresource {
	case "proxy", "log", "exec", "attach", "portforward":
		return false
	}
	return true
}

// translation is a request on its way to an upstream that may lack a format of
// its body or of the answer that is wanted.
type translation struct {
	f       *Forwarder
	request *http.Request // as the caller sent it
	info    *request.Info
	wish    *wish    // nil if no answer has to be converted
	payload *payload // nil if the body need not be held
	lease   lease
	// deadline bounds what reading the body may take; 0 is no bound.
	deadline func(time.Duration)

	reserved  int64 // of the lease, for the answer
	asksJSON  bool  // the answer is asked for in JSON
	sendsJSON bool  // the body is
	learns    bool  // the upstream was found to have no CBOR, if it takes JSON
}

// translation returns what the request may need, nil if that is nothing. Its
// lease has to be ended.
func (f *Forwarder) translation(w http.ResponseWriter, r *http.Request, info *request.Info) *translation {
	if f.strict || !translatable(r, info) || !concerned(r, info) {
		return nil
	}
	t := &translation{f: f, info: info, lease: lease{room: f.known, user: info.User}}
	if info.Caller == request.Unauthenticated {
		t.lease = lease{room: f.unknown}
	}
	client := http.NewResponseController(w)
	t.deadline = func(after time.Duration) {
		when := time.Time{}
		if after > 0 {
			when = time.Now().Add(after)
		}
		_ = client.SetReadDeadline(when) // who cannot is bounded by its share
	}
	return t
}

// concerned reports whether a format of the request or its answer may be
// lacking.
func concerned(r *http.Request, info *request.Info) bool {
	_, jsonType := convertible(r)
	return jsonType != "" || wishOf(r, info) != nil
}

// translate sends the request and, if the upstream refuses a format that
// Sluice has, sends it again in JSON. A 406 or 415 is given before anything is
// done (wire.md 0), so a write may be repeated after it.
func (t *translation) translate(r *http.Request) (*http.Response, error) {
	if !concerned(r, t.info) { // any more, without its hop-by-hop headers
		return t.f.send(r)
	}
	t.request, t.wish = r, wishOf(r, t.info)
	resp, err := t.run()
	t.info.Outcome.Transcoded = t.info.Outcome.Transcoded || t.sendsJSON && err == nil
	return resp, err
}

func (t *translation) run() (*http.Response, error) {
	var err error
	if t.payload, err = payloadOf(t.request, &t.lease, t.deadline); err != nil {
		return nil, err
	}
	if err := t.recall(); err != nil {
		return nil, err
	}
	for range maxSends - 1 {
		resp, err := t.f.send(t.next())
		if err != nil {
			return nil, err
		}
		again, err := t.refused(resp)
		if !again && err == nil {
			return t.answered(resp)
		}
		_, _ = io.CopyN(io.Discard, resp.Body, refusalBytes)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	resp, err := t.f.send(t.next())
	if err != nil {
		return nil, err
	}
	return t.answered(resp)
}

// recall begins with JSON where CBOR is known to be refused. A body that cannot
// be converted goes as it came: whether its sender may send it at all is the
// upstream's to say, and it refuses the rest. For who is not known nothing is
// decoded before the upstream has let it in.
func (t *translation) recall() error {
	if !t.f.lacks.has(api(t.info)) {
		return nil
	}
	if t.payload.isCBOR() {
		if t.info.Caller == request.Unauthenticated || !t.payload.whole() {
			return nil
		}
		switch err := t.convertBody(); {
		case t.request.Context().Err() != nil:
			return err
		case err != nil:
			return nil
		}
		t.sendsJSON = true
	}
	t.asksJSON = t.wish != nil && t.wish.onlyCBOR
	return t.prepare()
}

// convertBody converts the body, when it is its turn.
func (t *translation) convertBody() error {
	done := t.request.Context().Done()
	select {
	case t.f.decoding <- struct{}{}:
	case <-done:
		return t.request.Context().Err()
	}
	defer func() { <-t.f.decoding }()
	return t.payload.convert(t.info, &t.lease)
}

// negotiated reports whether it is the server that refuses a format, in words
// of its own, not an admission webhook that denies the request with the same
// code: that the apiserver tells of in these words always.
func negotiated(resp *http.Response) bool {
	if resp.StatusCode != http.StatusNotAcceptable && resp.StatusCode != http.StatusUnsupportedMediaType {
		return false
	}
	body, _ := peek(resp, refusalBytes)
	return !bytes.Contains(body, []byte("admission webhook"))
}

// refused reports whether the request has to be sent again, and prepares that.
// It returns a Status if it would have to, but cannot be.
func (t *translation) refused(resp *http.Response) (again bool, err error) {
	plain := negotiated(resp)
	asked, sent := t.asksJSON, t.sendsJSON
	switch {
	case !plain && t.request.Method != http.MethodGet:
		return false, nil
	case resp.StatusCode == http.StatusNotAcceptable && t.wish != nil && !t.asksJSON && t.harmless():
		t.asksJSON = true
		// Who has no CBOR for answers has none for bodies.
		t.sendsJSON = t.sendsJSON || t.wish.onlyCBOR && t.payload.isCBOR()
		t.learns = plain && t.wish.onlyCBOR && t.wish.format.Shape == codec.Object
	case resp.StatusCode == http.StatusUnsupportedMediaType && t.payload.jsonType != "" && !t.sendsJSON:
		t.sendsJSON = true
		t.learns = t.payload.isCBOR()
		t.asksJSON = t.asksJSON || t.learns && t.wish != nil && t.wish.onlyCBOR && t.harmless()
	default:
		return false, nil
	}
	switch {
	case t.payload.long:
		return false, codec.NewEntityTooLarge(maxRequest)
	case !t.payload.whole():
		t.asksJSON, t.sendsJSON, t.learns = asked, sent, false
		return false, nil
	}
	if t.sendsJSON {
		if err := t.convertBody(); err != nil {
			return false, err
		}
	}
	return true, t.prepare()
}

// harmless reports whether a 406 surely comes before anything is done. The
// apiserver gives some only when it is to make Tables or metadata of the
// result (wire.md 1.4).
func (t *translation) harmless() bool {
	return t.wish.format.Shape == codec.Object || t.request.Method == http.MethodGet
}

// prepare sets aside what the answer to a write will need.
func (t *translation) prepare() error {
	if !t.asksJSON || t.request.Method == http.MethodGet {
		return nil
	}
	t.reserved = writeRoom + writeFactor*int64(len(t.payload.held))
	return t.lease.hold(t.payload.size() + t.reserved)
}

// next returns the request as it is to be sent now.
func (t *translation) next() *http.Request {
	out := t.request.WithContext(t.request.Context())
	if out.Body != nil {
		out.Body = t.payload.body()
	}
	if t.asksJSON || t.sendsJSON {
		out.Header = out.Header.Clone()
	}
	if t.asksJSON {
		out.Header.Set("Accept", t.wish.accept(t.info))
		out.Header.Del("Accept-Encoding")
	}
	if t.sendsJSON {
		out.Header.Set("Content-Type", t.payload.jsonType)
		out.Header.Del("Content-Length")
		out.Body, out.ContentLength = t.payload.jsonBody(), int64(len(t.payload.json))
		out.TransferEncoding = nil
	}
	return out
}

// answered returns the answer for the caller.
func (t *translation) answered(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, errSwitched
	}
	t.payload.drop()
	t.lease.shrink(t.reserved)
	refused := resp.StatusCode == http.StatusNotAcceptable || resp.StatusCode == http.StatusUnsupportedMediaType
	if t.learns && !refused {
		t.f.lacks.add(api(t.info))
	}
	if len(t.payload.warnings) > 0 && !refused {
		resp.Header["Warning"] = append(slices.Clone(t.payload.warnings), resp.Header["Warning"]...)
	}
	if t.wish == nil || bodiless(resp.StatusCode) || !isJSON(resp) {
		t.lease.end()
		return resp, nil
	}
	out, err := t.convert(resp)
	if err != nil {
		resp.Body.Close()
		var refusal *codec.Status
		if errors.As(err, &refusal) && t.request.Method != http.MethodGet && resp.StatusCode < http.StatusBadRequest {
			// A client that is told to come back would do it again.
			return nil, codec.NewServerError("the request was carried out, but: " + refusal.Message)
		}
		return nil, err
	}
	if out == resp {
		t.lease.shrink(maxError) // which was looked at, at most
	}
	return out, nil
}
