package priority

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/flowcontrol"
	informersv1 "k8s.io/client-go/informers/flowcontrol/v1"
	listersv1 "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"
)

// informerFactory stands in for the informers from which the library reads its configuration: Sluice has
// the objects already. Of the interfaces that are embedded here and below, which are nil, the library uses
// only the methods that are implemented.
type informerFactory struct {
	informers.SharedInformerFactory
	flowcontrol.Interface
	schemas, levels *informer
}

// Flowcontrol implements informers.SharedInformerFactory.
func (f *informerFactory) Flowcontrol() flowcontrol.Interface { return f }

// V1 implements flowcontrol.Interface.
func (f *informerFactory) V1() informersv1.Interface { return f }

// FlowSchemas implements informersv1.Interface.
func (f *informerFactory) FlowSchemas() informersv1.TypedFlowSchemaInformer {
	return typedInformer[listersv1.FlowSchemaLister, informersv1.FlowSchemaIndexInformer]{f.schemas, listersv1.NewFlowSchemaLister}
}

// PriorityLevelConfigurations implements informersv1.Interface.
func (f *informerFactory) PriorityLevelConfigurations() informersv1.TypedPriorityLevelConfigurationInformer {
	return typedInformer[listersv1.PriorityLevelConfigurationLister, informersv1.PriorityLevelConfigurationIndexInformer]{f.levels,
		listersv1.NewPriorityLevelConfigurationLister}
}

// typedInformer is an informer with a lister of its type, L. The library does not ask for the typed informer, T.
type typedInformer[L, T any] struct {
	*informer
	lister func(cache.Indexer) L
}

// Informer returns the informer without its type.
func (i typedInformer[L, T]) Informer() cache.SharedIndexInformer { return i.informer }

// TypedInformer returns none.
func (i typedInformer[L, T]) TypedInformer() (none T) { return none }

// Lister returns the lister.
func (i typedInformer[L, T]) Lister() L { return i.lister(i.objects) }

// informer holds the objects of one resource.
type informer struct {
	cache.SharedIndexInformer
	objects cache.Indexer
	handler cache.ResourceEventHandler // of the library
}

func newInformer() *informer {
	return &informer{objects: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
}

// HasSynced implements cache.SharedIndexInformer.
func (i *informer) HasSynced() bool { return true }

// AddEventHandler implements cache.SharedIndexInformer.
func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = h
	return nil, nil
}

// replace sets the objects.
func replace[T runtime.Object](i *informer, objects []T) {
	all := make([]any, len(objects))
	for n, o := range objects {
		all[n] = o
	}
	_ = i.objects.Replace(all, "") // fails only for what is no object
}
