package main

import (
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec"
	"sluice/config"
	"sluice/proxy/flowcontrol/priority"
	"sluice/proxy/resources"
)

// priorityLevels returns the priority levels by which requests pass.
func priorityLevels(file *config.File, r *resources.Registry, log *zap.Logger) *priority.Levels {
	o := priority.Options{
		Seats: file.Limits.Seats, Wait: file.Limits.QueueWait.Duration,
		Store: storeOf(r), Objects: objectsOf(r), Log: log.Named("priority"),
	}
	if file.Authentication.Callers == config.CallersSelf { // few may list the configuration
		o.Store = func(schema.GroupVersionResource) (*cache.Store, codec.Encoding) { return nil, 0 }
	}
	return priority.New(o)
}

// storeOf starts the stores of the configuration, and keeps them in use, in Sluice's own name.
func storeOf(r *resources.Registry) priority.StoreOf {
	return func(gvr schema.GroupVersionResource) (*cache.Store, codec.Encoding) {
		c, _ := r.Lookup(gvr, resources.Reader{Whole: true})
		if c == nil {
			return nil, 0
		}
		return c.Store, c.Resource.Source
	}
}

// objectsOf counts the objects of resources that are cached.
func objectsOf(r *resources.Registry) priority.ObjectsOf {
	return func(gvr schema.GroupVersionResource) (objects, bytes int64, known bool) {
		c := r.Peek(gvr)
		if c == nil {
			return 0, 0, false
		}
		s := c.Store.Stats()
		return int64(s.Objects), s.DataBytes, true
	}
}
