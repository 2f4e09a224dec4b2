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
	schemas, levels *informer
}

// Flowcontrol implements informers.SharedInformerFactory.
func (f informerFactory) Flowcontrol() flowcontrol.Interface { return informerGroup{factory: f} }

type informerGroup struct {
	flowcontrol.Interface
	factory informerFactory
}

// V1 implements flowcontrol.Interface.
func (g informerGroup) V1() informersv1.Interface { return informerVersion{g.factory} }

type informerVersion struct{ factory informerFactory }

// FlowSchemas implements informersv1.Interface.
func (v informerVersion) FlowSchemas() informersv1.FlowSchemaInformer {
	return schemaInformer{v.factory.schemas}
}

// PriorityLevelConfigurations implements informersv1.Interface.
func (v informerVersion) PriorityLevelConfigurations() informersv1.PriorityLevelConfigurationInformer {
	return levelInformer{v.factory.levels}
}

type schemaInformer struct{ *informer }

// Informer implements informersv1.FlowSchemaInformer.
func (i schemaInformer) Informer() cache.SharedIndexInformer { return i.informer }

// Lister implements informersv1.FlowSchemaInformer.
func (i schemaInformer) Lister() listersv1.FlowSchemaLister {
	return listersv1.NewFlowSchemaLister(i.objects)
}

type levelInformer struct{ *informer }

// Informer implements informersv1.PriorityLevelConfigurationInformer.
func (i levelInformer) Informer() cache.SharedIndexInformer { return i.informer }

// Lister implements informersv1.PriorityLevelConfigurationInformer.
func (i levelInformer) Lister() listersv1.PriorityLevelConfigurationLister {
	return listersv1.NewPriorityLevelConfigurationLister(i.objects)
}

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
func replace[T runtime.Object](i *informer, objects []T) error {
	all := make([]any, len(objects))
	for n, o := range objects {
		all[n] = o
	}
	return i.objects.Replace(all, "")
}
