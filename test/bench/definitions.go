package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/test/harness"
)

const (
	// kindsVersion is the API version of the kinds, which no other resource has.
	kindsVersion = "v1kinds"
	// kindsOfGroup is how many kinds an API group has.
	kindsOfGroup = 50
	// definers create kinds at the same time.
	definers = 8
	// quietCPU is the share of a core below which the apiserver has taken note of the kinds.
	quietCPU, quietEvery, quietLimit = 0.2, 2 * time.Second, 3 * time.Minute
)

// kindAt returns one of the kinds.
func kindAt(i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: fmt.Sprintf("group%d.bench.sluice.dev", i/kindsOfGroup), Version: kindsVersion, Resource: fmt.Sprintf("kind%ds", i%kindsOfGroup),
	}
}

func kindPath(i int) string {
	gvr := kindAt(i)
	return "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
}

// definition returns the CRD of a kind.
func definition(i int) []byte {
	gvr, n := kindAt(i), i%kindsOfGroup
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.%s"},`+
		`"spec":{"group":%q,"scope":"Cluster","names":{"plural":%q,"singular":"kind%d","kind":"Kind%d","listKind":"Kind%dList"},`+
		`"versions":[{"name":%q,"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		gvr.Resource, gvr.Group, gvr.Group, gvr.Resource, n, n, n, gvr.Version)
}

// defineKinds creates the kinds with an object of each, and returns the token of a service account that may read all.
func (w *world) defineKinds(ctx context.Context) (token string, err error) {
	defer fails(&err)
	const namespace = "bench-kinds"
	read := rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	tokens := must(w.accounts(ctx, namespace, 1, read))
	progress("creating %d kinds", w.kinds)
	g, making := errgroup.WithContext(ctx)
	g.SetLimit(definers)
	for i := range w.kinds {
		g.Go(func() error { return w.defineKind(making, i) })
	}
	check(g.Wait())
	return tokens[0], w.awaitQuiet(ctx)
}

// defineKind creates a kind, and an object of it once the apiserver serves it.
func (w *world) defineKind(ctx context.Context, i int) error {
	post := func(path string, body []byte) (int, error) {
		request := harness.Request{Method: http.MethodPost, Path: path, Header: http.Header{"Content-Type": {jsonType}}, Body: body}
		got, err := w.plane.Raw(user).Do(ctx, request)
		if err != nil {
			return 0, err
		}
		return got.Status, nil
	}
	code, err := post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(i))
	if err == nil && code != http.StatusCreated && code != http.StatusConflict {
		err = fmt.Errorf("create %s: %d", kindAt(i), code)
	}
	object := fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":"Kind%d","metadata":{"name":"only"}}`,
		kindAt(i).Group, kindsVersion, i%kindsOfGroup)
	for err == nil {
		if code, err = post(kindPath(i), object); err != nil || code == http.StatusCreated || code == http.StatusConflict {
			return err
		}
		err = sleep(ctx, settle)
	}
	return err
}

// awaitQuiet waits until the apiserver has finished what new kinds make it do.
func (w *world) awaitQuiet(ctx context.Context) error {
	poll(ctx, 0, quietLimit, func() bool {
		now, err := measureIdle(ctx, quietEvery, w.apiserver)
		return err != nil || now[apiserverName].Share < quietCPU
	})
	return ctx.Err()
}
