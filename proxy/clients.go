package proxy

import (
	"net/http"
	"strings"
	"time"

	"sluice/proxy/clients"
	"sluice/proxy/request"
)

// costs are the parts of a request that have been counted for its client.
type costs struct {
	format        clients.Format // of the response
	compressed    bool
	encoder       bool               // Sluice compresses it, and Info.Encoded tells how long the body was before
	watch         *clients.OpenWatch // nil if it is none, or not open
	turn          uint32             // of the table
	encoded, sent int64
	listed        int64
	events        int64
}

// begun takes note of a response whose header is about to be written.
func (c *costs) begun(l *loggedRequest, code int) {
	h := l.Header()
	c.compressed = h.Get("Content-Encoding") != ""
	c.encoder = c.compressed && l.info.Outcome.Source == request.SourceCache
	switch content := h.Get("Content-Type"); {
	case strings.Contains(content, "protobuf"):
		c.format = clients.InProtobuf
	case !strings.Contains(content, "json"):
	case strings.Contains(l.r.Header.Get("Accept"), "as=Table"):
		c.format = clients.InTable
	case !strings.Contains(l.r.Header.Get("Accept"), "as=Partial"):
		c.format = clients.InJSON
	}
	if l.info.Verb == "watch" && code == http.StatusOK {
		c.open(l)
	}
}

// open counts a watch as open, and lets it be counted every few seconds.
func (c *costs) open(l *loggedRequest) {
	table, info := l.metrics.Clients, l.info
	c.watch = table.Open(clients.WatchFacts{
		Key: clientKey(l.r, info, http.StatusOK), Address: host(l.r),
		Version: info.Query.Get("resourceVersion"),
		Selects: selects(info), Cached: info.Outcome.Source == request.SourceCache, Reason: info.Outcome.Reason,
	})
	info.Watch, c.turn = c.watch, table.Turn()
	l.OnWrite(func() {
		if turn := table.Turn(); turn != c.turn {
			c.turn = turn
			c.add(l, false)
		}
	})
}

// selects describes in words the selection of a watch, without names of objects.
func selects(info *request.Info) string {
	switch {
	case strings.HasPrefix(info.FieldSelector, "metadata.name="):
		return "one object"
	case strings.HasPrefix(info.FieldSelector, byNode):
		return "by node"
	case info.FieldSelector+info.LabelSelector != "":
		return "by selector"
	}
	return "all"
}

// byNode begins field selectors for the pods of a node.
const byNode = "spec.nodeName="

// add counts the difference to the last call; ended says that the request has ended.
func (c *costs) add(l *loggedRequest, ended bool) {
	info, r := l.info, l.r
	encoded := l.Bytes
	if c.encoder {
		encoded = info.Encoded
	}
	u := clients.Use{
		Key: clientKey(r, info, l.Code), Verb: clientVerb(info), Outcome: outcomeOf(info, l.Code), Source: clientSource(info), Reason: info.Outcome.Reason,
		Ended: ended, Address: host(r), Took: time.Since(l.info.Received), Format: c.format, Compressed: c.compressed, Scanned: info.Scanned,
		Encoded: encoded - c.encoded, Sent: l.Bytes - c.sent, Events: info.Events - c.events, Listed: info.Listed - c.listed,
	}
	c.encoded, c.sent, c.events, c.listed = encoded, l.Bytes, info.Events, info.Listed
	if l.Code != 0 {
		l.metrics.wrote(r, info, l.Code, u.Sent, u.Encoded)
	}
	worth := l.metrics.Clients.Add(&u)
	if u.Source == clients.ByCache {
		l.metrics.avoided.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource).Add(worth.Seconds())
	}
}

// host returns the address of the client without its port.
func host(r *http.Request) string {
	if i := strings.LastIndexByte(r.RemoteAddr, ':'); i >= 0 {
		return r.RemoteAddr[:i]
	}
	return r.RemoteAddr
}

// clientKey returns the row of a request. Unauthenticated callers have one for each network: their names are not
// verified.
func clientKey(r *http.Request, info *request.Info, code int) clients.Key {
	if info.Caller == request.Unauthenticated || info.User == "" {
		return clients.Key{Agent: clients.Network(r.RemoteAddr)}
	}
	k := clients.Key{User: info.User, Agent: clients.Agent(r.UserAgent())}
	if info.Impersonated != nil {
		k.User += " as " + info.Impersonated.GetName()
	}
	if k.Group, k.Version, k.Resource, _ = named(r, info, code); k.Resource == "" || k.Group == other {
		k.Group, k.Version, k.Resource = "", "", ""
		return k
	}
	switch {
	case info.Namespace != "" && info.Resource != "namespaces": // which are objects themselves
		k.Namespace = info.Namespace
	case strings.HasPrefix(info.FieldSelector, byNode):
		k.Namespace = clients.ByNode
	default:
		k.Namespace = clients.AllNamespaces
	}
	return k
}

func clientVerb(info *request.Info) clients.Verb {
	switch {
	case info.Subresource != "" || !info.IsResourceRequest:
	case info.Verb == "get":
		return clients.Get
	case info.Verb == "list":
		return clients.List
	case info.Verb == "watch":
		return clients.Watch
	}
	return clients.OtherVerb
}

func clientSource(info *request.Info) clients.Source {
	switch {
	case info.Outcome.Source == request.SourceCache:
		return clients.ByCache
	case info.Outcome.Source == request.SourceGateway, info.Outcome.Unanswered:
		return clients.BySluice
	}
	return clients.ByApiserver
}

// outcomeOf returns the outcome of a request, for every list and count.
func outcomeOf(info *request.Info, code int) clients.Outcome {
	switch source := info.Outcome.Source; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests:
		return clients.Refused
	case code == 0, code >= http.StatusInternalServerError, info.Outcome.End.IsFailure():
		return clients.Failed
	case source == request.SourceCache:
		return clients.Served
	case source == request.SourceGateway && code >= http.StatusBadRequest:
		return clients.Refused
	}
	return clients.Passed
}
