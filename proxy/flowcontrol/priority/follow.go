package priority

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec"
)

const (
	// useEvery is how often the stores are looked up, so that they count as used.
	useEvery = time.Minute
	// minRetry and maxRetry are the delays until a missing store is looked up again.
	minRetry = time.Second
	maxRetry = time.Minute
)

var (
	schemaResource = flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")
	levelResource  = flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")
)

// StoreOf returns the store of a resource and the encoding of its objects. It returns nil while there is
// none in sync.
type StoreOf func(schema.GroupVersionResource) (*cache.Store, codec.Encoding)

// follower follows the configuration of the cluster.
type follower struct {
	store StoreOf
	apply func(configuration) error
	log   *zap.Logger
	seen  []*cache.Object // the configuration applied last
}

// run calls apply with each configuration until ctx ends. It calls it with none while a store is missing.
func (f *follower) run(ctx context.Context) {
	retry := minRetry
	for ctx.Err() == nil {
		schemas, encoding := f.store(schemaResource)
		levels, levelEncoding := f.store(levelResource)
		if schemas == nil || levels == nil {
			await(ctx, retry, nil, nil)
			retry = min(2*retry, maxRetry)
			continue
		}
		retry = minRetry
		schemasChanged, levelsChanged := schemas.Changed(), levels.Changed()
		if err := f.read(schemas.Snapshot(), encoding, levels.Snapshot(), levelEncoding); err != nil {
			f.log.Warn("FlowSchemas and PriorityLevelConfigurations cannot be used", zap.Error(err))
		}
		if ended(schemas) || ended(levels) {
			await(ctx, retry, nil, nil)
			continue
		}
		await(ctx, useEvery, schemasChanged, levelsChanged)
	}
}

// read applies the configuration of two states unless it is the last one. The apiserver keeps the mandatory
// objects alive: a state without schemas, or without levels, is none.
func (f *follower) read(schemas *cache.Snapshot, encoding codec.Encoding, levels *cache.Snapshot, levelEncoding codec.Encoding) error {
	all := slices.AppendSeq(slices.Collect(schemas.Objects(cache.Range{})), levels.Objects(cache.Range{}))
	if slices.Equal(all, f.seen) {
		return nil
	}
	f.seen = all
	var c configuration
	var err error
	if c.schemas, err = decode(schemas, encoding, usableSchema); err != nil {
		return err
	}
	if c.levels, err = decode(levels, levelEncoding, usableLevel); err != nil {
		return err
	}
	if len(c.schemas) == 0 || len(c.levels) == 0 {
		return errors.New("there are none")
	}
	return f.apply(c)
}

func ended(s *cache.Store) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// await waits until a channel is closed, for a time, or until ctx ends.
func await(ctx context.Context, limit time.Duration, a, b <-chan struct{}) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-a:
	case <-b:
	}
}
