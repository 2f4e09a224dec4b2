package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// State is what an informer of ConfigMaps has seen.
type State struct {
	Synced  bool              `json:"synced"`
	Objects map[string]string `json:"objects"` // resource versions by name
	Events  int               `json:"events"`
	Error   string            `json:"error,omitempty"` // the last error of a list or watch
}

// informer follows the ConfigMaps of a namespace.
type informer struct {
	shared cache.SharedIndexInformer

	mu  sync.Mutex // guards now
	now State
}

func newInformer(client kubernetes.Interface, namespace string) *informer {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	i := &informer{shared: factory.Core().V1().ConfigMaps().Informer(), now: State{Objects: map[string]string{}}}
	set := func(o any) {
		m := o.(*corev1.ConfigMap)
		i.change(func(s *State) { s.Objects[m.Name] = m.ResourceVersion })
	}
	// Neither call fails before the informer runs.
	_, _ = i.shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, o any) { set(o) },
		DeleteFunc: func(o any) {
			key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
			_, name, _ := cache.SplitMetaNamespaceKey(key)
			i.change(func(s *State) { delete(s.Objects, name) })
		},
	})
	_ = i.shared.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.now.Error = err.Error()
	})
	return i
}

func (i *informer) run(ctx context.Context) { i.shared.Run(ctx.Done()) }

func (i *informer) change(f func(*State)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(&i.now)
	i.now.Events++
}

// state returns a copy.
func (i *informer) state() State {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.now
	s.Synced = i.shared.HasSynced()
	s.Objects = make(map[string]string, len(i.now.Objects))
	for name, version := range i.now.Objects {
		s.Objects[name] = version
	}
	return s
}
