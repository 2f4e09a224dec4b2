package serve

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/sharding"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
)

// shards is a shard selector (KEP-5866): the objects whose uid or namespace has
// a hash in one of some ranges. Neither ever changes.
type shards struct {
	selector string // as the list's shardInfo repeats it
	ranges   []hashRange
	uid      func(*cache.Object) uint64 // hash of the uid; nil to select by namespace
}

// hashRange holds first and last.
type hashRange struct{ first, last uint64 }

// badShards is what is wrong with a shard selector, in the apiserver's words.
type badShards struct{ error }

// newShards reads a selector. An error is a badShards.
func newShards(text string, r *codec.Resource) (*shards, error) {
	selector, err := sharding.Parse(text)
	if err != nil {
		return nil, badShards{fmt.Errorf("invalid shard selector: %w", err)}
	}
	s := &shards{selector: selector.String()}
	for _, q := range selector.Requirements() {
		if q.Key == "object.metadata.uid" {
			s.uid = func(o *cache.Object) uint64 { return shardHash(string(r.UID(o.Data))) }
		}
		s.ranges = append(s.ranges, hashRange{hexNumber(q.Start), hexNumber(q.End) - 1})
	}
	return s, nil
}

// hexNumber reads a bound that the parser has checked: 0x and 16 digits, or
// 2^64, which is 0 here.
func hexNumber(bound string) uint64 {
	n, _ := strconv.ParseUint(bound[len(bound)-16:], 16, 64)
	return n
}

// shardHash is apimachinery's HashField as a number.
func shardHash(value string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // never fails
	return h.Sum64()
}

func (s *shards) match(o *cache.Object) bool {
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

// withheld answers a read of a shard that must not be passed, though it cannot
// be served: its client was told of the shard by a list from here and trusts
// what follows, but an upstream without the feature gate would send all there
// is. It is told to list again, or later. A list that is passed says by itself
// whether it is of a shard. p is nil if the request did not come to a plan.
func (s *Handler) withheld(w http.ResponseWriter, r *http.Request, p *plan, reason string) bool {
	info := request.From(r.Context())
	if !s.options.Features.ShardSelector || info.Query.Get("shardSelector") == "" {
		return false
	}
	follows := info.Verb == "watch" || info.Query.Get("continue") != "" // a list from here
	var refusal error
	switch {
	case reason == reasonHistory && p.verb == negotiate.Watch:
		p.expire(w)
		return true
	case reason == reasonHistory:
		refusal = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case follows && (reason == resources.NotInSync || reason == reasonUnproven || reason == reasonAhead):
		refusal = apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	default:
		return false
	}
	info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: reason}
	response.Error(w, r, refusal)
	return true
}

// expire answers a watch from before the history as the apiserver does: with a
// stream that holds nothing but the error (wire.md 7.7).
func (p *plan) expire(w http.ResponseWriter) {
	p.begin(w.Header(), "")
	p.info.Outcome.Source, p.info.Outcome.Reason = request.SourceGateway, reasonHistory
	w.WriteHeader(http.StatusOK)
	expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", p.version, p.collection.Store.OldestVersion()))
	// An error here means that the client is gone.
	_, _ = w.Write(p.encoder.AppendErrorEvent(nil, &expired.ErrStatus))
}
