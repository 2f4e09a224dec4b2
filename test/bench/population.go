package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"sluice/test/harness"
)

// population is all objects of a resource, which are written straight into etcd: the apiserver would
// take minutes to create them.
type population struct {
	resource string
	path     string // of the collection
	prefix   string // of the keys in etcd
	count    int
	objects  iter.Seq2[string, runtime.Object] // by their keys below the prefix
	custom   bool                              // custom resources, which have no Protobuf
	prepare  func(context.Context, *harness.ControlPlane)
}

func (p population) String() string { return fmt.Sprintf("%d %s", p.count, p.resource) }

const (
	// namespaces is the number of namespaces of the pods without --scale.
	namespaces = 4
	// perNamespace is the number of pods and small ConfigMaps of a namespace with --scale.
	perNamespace = 1000
)

func namespaceName(i int) string { return fmt.Sprintf("bench-%d", i) }

// namespaceSize returns the number of pods in the i-th namespace.
func namespaceSize(pods, namespaces, i int) int { return (pods + namespaces - 1 - i) / namespaces }

// pods returns namespaces and n pods in them. The first pods of a namespace are the same for every n.
func pods(n, namespaces int) population {
	return population{
		resource: "pods", path: "/api/v1/pods", prefix: "/registry/pods/", count: n,
		objects: func(yield func(string, runtime.Object) bool) {
			for i := range namespaces {
				for _, pod := range harness.Pods(namespaceSize(n, namespaces, i), namespaceName(i), uint64(i)) {
					pod.ResourceVersion = "" // which is never stored
					if !yield(pod.Namespace+"/"+pod.Name, pod) {
						return
					}
				}
			}
		},
		prepare: func(ctx context.Context, c *harness.ControlPlane) {
			for i := range namespaces {
				check(c.Create(ctx, "/api/v1/namespaces", named(namespaceName(i))))
			}
		},
	}
}

// scaledPods are in namespaces of the same size.
func scaledPods(n int) population { return pods(n, (n+perNamespace-1)/perNamespace) }

// configMaps are n ConfigMaps of a size, as many in each namespace.
func configMaps(n, each, size int) population {
	return population{
		resource: "configmaps", path: "/api/v1/configmaps", prefix: "/registry/configmaps/", count: n,
		objects: func(yield func(string, runtime.Object) bool) {
			r := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				c := &corev1.ConfigMap{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
					ObjectMeta: metav1.ObjectMeta{
						Namespace: namespaceName(i / each), Name: fmt.Sprintf("config-%06d", i),
						UID:               types.UID(fmt.Sprintf("00000000-0000-4000-a000-%012d", i)),
						CreationTimestamp: metav1.Unix(1_772_000_000+int64(i), 0),
						Labels:            map[string]string{"app": fmt.Sprintf("app-%02d", i%40)},
					},
					Data: map[string]string{"content": randomText(r, size)},
				}
				if !yield(c.Namespace+"/"+c.Name, c) {
					return
				}
			}
		},
	}
}

// randomText returns a text of half as much entropy as random bytes have.
func randomText(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()[:size]
}

const (
	// loadAttempts bounds the attempts after errors: etcd times out on a busy disk.
	loadAttempts = 5
	// storers is the number of concurrent writes to etcd.
	storers = 64
)

// load writes the objects.
func (p population) load(ctx context.Context, c *harness.ControlPlane) {
	if p.prepare != nil {
		p.prepare(ctx, c)
	}
	progress("writing %s", p)
	g, gctx := newGroup(ctx, storers)
	for key, obj := range p.objects {
		if gctx.Err() != nil {
			break
		}
		g.run(func() { store(gctx, c, p.prefix+key, obj) })
	}
	g.wait()
}

var storageCodec = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// store writes an object into etcd: built-in kinds in Protobuf, others in JSON.
func store(ctx context.Context, c *harness.ControlPlane, key string, obj runtime.Object) {
	var b bytes.Buffer
	if text, ok := obj.(*runtime.Unknown); ok {
		b.Write(text.Raw)
	} else {
		check(storageCodec.Encode(obj, &b))
	}
	for attempt := 1; ; attempt++ {
		err := c.PutStored(ctx, key, b.Bytes())
		if err == nil {
			return
		}
		if attempt == loadAttempts {
			check(err)
		}
		sleep(ctx, settle)
	}
}
