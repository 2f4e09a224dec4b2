package serve

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/sharding"

	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
)

// shards is a shard selector (KEP-5866): it selects the objects for which the hash of the UID or of
// the namespace lies in one of the ranges. Neither field ever changes.
type shards struct {
	selector string // in canonical form, for shardInfo of the list
	ranges   []hashRange
	uid      func(*tree.Object) uint64 // hash of the UID; nil to select by namespace
}

// hashRange contains first and last.
type hashRange struct{ first, last uint64 }

// invalidShardSelector says in the words of the apiserver what is wrong with a shard selector.
type invalidShardSelector struct{ error }

// newShards parses a shard selector. Its error is an invalidShardSelector.
func newShards(text string, r *codec.Resource) (*shards, error) {
	selector, err := sharding.Parse(text)
	if err != nil {
		return nil, invalidShardSelector{fmt.Errorf("invalid shard selector: %w", err)}
	}
	s := &shards{selector: selector.String()}
	for _, q := range selector.Requirements() {
		if q.Key == "object.metadata.uid" {
			s.uid = func(o *tree.Object) uint64 { return shardHash(string(r.UID(o.Data))) }
		}
		s.ranges = append(s.ranges, hashRange{parseBound(q.Start), parseBound(q.End) - 1})
	}
	return s, nil
}

// parseBound returns the value of a valid bound: 0x and 16 digits, or 2^64, which becomes 0.
func parseBound(bound string) uint64 {
	n, _ := strconv.ParseUint(bound[len(bound)-16:], 16, 64)
	return n
}

// shardHash is HashField of apimachinery, as a number.
func shardHash(value string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // never fails
	return h.Sum64()
}

func (s *shards) match(o *tree.Object) bool {
	var h uint64
	if s.uid != nil {
		h = o.Hash(s.uid)
	} else {
		h = shardHash(o.Key.Namespace())
	}
	for _, r := range s.ranges {
		if r.first <= h && h <= r.last {
			return true
		}
	}
	return false
}

// refuseShard returns the refusal of a sharded read that must not pass for the reason, nil if it may
// pass. A page or watch follows a list of the shard from here, but an apiserver without the
// feature gate would ignore the selector and send the whole resource. The client is told to list
// again, or later. A list may pass: shardInfo in the response says whether it is of the shard.
func refuseShard(info *request.Info, reason outcome.Pass) error {
	if info.Query.Get("shardSelector") == "" || info.Verb == "get" { // which has no shard
		return nil
	}
	follows := info.Verb == "watch" || info.Query.Get("continue") != ""
	switch {
	case reason == outcome.VersionBeforeHistory:
		return &outcome.Refused{Reason: reason, Err: apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")}
	case follows && (reason == resources.NotInSync || reason == outcome.NotProvenInTime || reason == outcome.VersionNotReached):
		return &outcome.Refused{Reason: reason, Err: apierrors.NewTooManyRequests("storage is (re)initializing", response.RetryAfter)}
	}
	return nil
}

// writeExpired answers a watch from before the history as the apiserver does: with a stream that
// contains only an ERROR event (wire.md 7.7).
func (p *plan) writeExpired(w http.ResponseWriter) {
	p.writeHeaders(w.Header(), "")
	p.info.Outcome.Source, p.info.Outcome.Reason = request.SourceGateway, string(outcome.VersionBeforeHistory)
	w.WriteHeader(http.StatusOK)
	expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", p.version, p.resource.Store.OldestVersion()))
	// An error means that the client has gone.
	_, _ = w.Write(p.encoder.AppendErrorEvent(nil, &expired.ErrStatus))
}
