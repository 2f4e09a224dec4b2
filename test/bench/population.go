package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

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
	// podSeed is the seed of the random fields of these pods.
	podSeed = 1
	// perNamespace is the number of pods and small ConfigMaps of a namespace with --scale.
	perNamespace = 1000
)

func namespaceName(i int) string   { return fmt.Sprintf("bench-%d", i) }
func scaledNamespace(i int) string { return fmt.Sprintf("scale-%04d", i) }

// namespaceSize returns the number of pods in the i-th namespace without --scale.
func namespaceSize(pods, i int) int { return (pods + namespaces - 1 - i) / namespaces }

// pods returns pods, of which some are pending, in so many namespaces.
func pods(n, namespaces int, of func(i int) []*corev1.Pod, pending func(i int) bool) population {
	return population{
		resource: "pods", path: "/api/v1/pods", prefix: "/registry/pods/", count: n,
		objects: func(yield func(string, runtime.Object) bool) {
			for ns := range namespaces {
				for i, pod := range of(ns) {
					pod.ResourceVersion = "" // which is never stored
					if pending(i) {
						pod.Status.Phase = corev1.PodPending
					}
					if !yield(pod.Namespace+"/"+pod.Name, pod) {
						return
					}
				}
			}
		},
	}
}

// runningPods are pods in namespaces that exist. The first pods are the same for every number.
func runningPods(n int) population {
	p := pods(n, namespaces, func(i int) []*corev1.Pod {
		return harness.Pods(namespaceSize(n, i), namespaceName(i), podSeed)
	}, func(int) bool { return false })
	p.prepare = func(ctx context.Context, c *harness.ControlPlane) {
		for i := range namespaces {
			space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i)}}
			created(c.Client(user).CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}))
		}
	}
	return p
}

// created fails with the error of a creation, unless there is such an object.
func created[T any](_ T, err error) {
	if !apierrors.IsAlreadyExists(err) {
		check(err)
	}
}

// scaledPods are pods of which every hundredth is pending.
func scaledPods(n int) population {
	return pods(n, (n+perNamespace-1)/perNamespace, func(i int) []*corev1.Pod {
		return harness.Pods(min(perNamespace, n-i*perNamespace), scaledNamespace(i), uint64(i))
	}, func(i int) bool { return i%100 == 0 })
}

func smallConfigMaps(n int) population { return configMaps(n, perNamespace, 700) }

// largeConfigMaps are those of the load test of Kubernetes for lists: 100 KB each.
func largeConfigMaps(n int) population { return configMaps(n, n, 100_000) }

func configMaps(n, each, size int) population {
	return population{
		resource: "configmaps", path: "/api/v1/configmaps", prefix: "/registry/configmaps/", count: n,
		objects: func(yield func(string, runtime.Object) bool) {
			r := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				c := &corev1.ConfigMap{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
					ObjectMeta: metav1.ObjectMeta{
						Namespace: scaledNamespace(i / each), Name: fmt.Sprintf("config-%06d", i),
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
	// ownObjects is how many more objects than were written a resource may have: the control plane creates some
	// ConfigMaps whenever it starts.
	ownObjects = 20
	// progressEvery is after how many written objects there is a line on stderr.
	progressEvery = 50_000
)

// load writes the objects, unless there are as many already, and returns how many it has written.
func (p population) load(ctx context.Context, c *harness.ControlPlane) int {
	if p.prepare != nil {
		p.prepare(ctx, c)
	}
	if p.loaded(p.present(ctx, c)) {
		return 0
	}
	progress("writing %s", p)
	check(c.DeleteStoredRange(ctx, p.prefix, p.prefix[:len(p.prefix)-1]+"0")) // "0" follows "/"
	p.write(ctx, c, nil)
	return p.count
}

// write writes the objects, without those of some keys.
func (p population) write(ctx context.Context, c *harness.ControlPlane, without map[string]bool) {
	var written atomic.Int64
	p.each(ctx, without, func(ctx context.Context, key string, obj runtime.Object) {
		if n := written.Add(1); n%progressEvery == 0 {
			progress("%d written", n)
		}
		store(ctx, c, key, obj)
	})
}

// each calls do for objects, several at a time, without those of some keys.
func (p population) each(ctx context.Context, without map[string]bool, do func(context.Context, string, runtime.Object)) {
	g, gctx := newGroup(ctx, storers)
	for key, obj := range p.objects {
		if gctx.Err() != nil {
			break
		}
		if !without[key] {
			g.run(func() { do(gctx, p.prefix+key, obj) })
		}
	}
	g.wait()
}

// become deletes and writes what another population of the resource has less and more.
func (p population) become(ctx context.Context, c *harness.ControlPlane, next population) {
	mine, others := map[string]bool{}, map[string]bool{}
	for key := range p.objects {
		mine[key] = true
	}
	for key := range next.objects {
		others[key] = true
	}
	p.each(ctx, others, func(ctx context.Context, key string, _ runtime.Object) { check(c.DeleteStored(ctx, key)) })
	next.write(ctx, c, mine)
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

// loaded reports whether n objects are those of the population, besides some of the control plane.
func (p population) loaded(n int) bool { return p.count <= n && n <= p.count+ownObjects }

// present returns the number of objects.
func (p population) present(ctx context.Context, c *harness.ControlPlane) int {
	got := must(c.Raw(user).Get(ctx, p.path+"?limit=1", jsonType+metadataList))
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(got.Body, &list); err != nil {
		check(fmt.Errorf("%s: %d: %w", p.path, got.Status, err))
	}
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0))
}
