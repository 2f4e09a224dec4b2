package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/auth"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/why"
)

// Explain says what would become of a request if who reads a path of Sluice itself made it now. Nothing is sent to
// the apiserver, except reviews of the reader's rights. A reader without a name is supposed to be known
// and to have the right to make the read, about which it learns nothing.
func (g *Gateway) Explain(ctx context.Context, q why.Question) (*why.Explanation, error) {
	r, info, err := g.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	g.foresight.ServeHTTP(response.Nowhere{}, r)
	verdict := why.Passed
	switch info.Outcome.Source {
	case request.SourceCache:
		verdict = why.Served
	case request.SourceGateway:
		verdict = why.Refused
	}
	return info.Why.Explain(verdict, info.Outcome.Reason), nil
}

// MayAsk reports whether who reads a path of Sluice itself may make the read that is asked about, so that nothing of
// it is new to the reader.
func (g *Gateway) MayAsk(ctx context.Context, q why.Question) bool {
	r, info, err := g.ask(ctx, q)
	if err != nil || info.Why.Supposed || !info.CanonicalPath() {
		return false
	}
	read, err := info.Read()
	if err != nil {
		return false
	}
	allowed, err := g.options.Access.MayRead(r, read)
	return allowed && err == nil
}

// ask returns the request that is asked about.
func (g *Gateway) ask(ctx context.Context, q why.Question) (*http.Request, *request.Info, error) {
	reader := auth.ReaderFrom(ctx)
	if err := g.admits(&q, reader); err != nil {
		return nil, nil, err
	}
	target, err := url.ParseRequestURI(q.URL)
	if err != nil {
		return nil, nil, errors.New("the URL is no path with a query")
	}
	r := &http.Request{
		Method: q.Method, URL: &url.URL{Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery},
		RequestURI: target.RequestURI(), Proto: "HTTP/2.0", ProtoMajor: 2, Header: q.Header,
	}
	info, _ := request.Parse(r)
	info.Why = &why.Recorder{}
	ctx = request.With(ctx, info)
	if reader.Info == nil {
		info.Why.Supposed, info.Caller, info.User = true, request.BearerToken, "(somebody)"
	} else {
		info.Caller, info.User, info.Acting = reader.Caller, reader.GetName(), reader.Info
		ctx = apirequest.WithUser(ctx, reader.Info)
	}
	return r.WithContext(ctx), info, nil
}

// admits refuses questions with credentials, which nobody should hand to a form, and adds the headers of whom the
// reader wants to act for.
func (g *Gateway) admits(q *why.Question, reader auth.Reader) error {
	header := http.Header{}
	for name, values := range q.Header {
		name = http.CanonicalHeaderKey(name)
		header[name] = append(header[name], values...)
	}
	q.Header, q.Method = header, cmp.Or(q.Method, http.MethodGet)
	if q.User != "" {
		q.Header.Set("Impersonate-User", q.User)
		q.Header["Impersonate-Group"] = q.Groups
	}
	for name := range q.Header {
		switch name {
		case "Authorization", "Proxy-Authorization", "Cookie", "Sec-Websocket-Protocol":
			return errors.New("a question has no credentials: leave out " + name + ", and name a user to act for instead")
		}
		if g.options.Upstream.IsUserHeader(name) {
			return errors.New("a question has no headers of a front proxy: leave out " + name)
		}
		if reader.Info == nil && strings.HasPrefix(name, "Impersonate-") {
			return errors.New("only a reader with a name may ask for another user: see admin.access")
		}
	}
	return nil
}
