package plan

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"k8s.io/apiserver/pkg/sharding"

	"sluice/cache/tree"
	"sluice/codec"
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

// invalidShardSelector is the apiserver's message for a malformed shard selector.
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
