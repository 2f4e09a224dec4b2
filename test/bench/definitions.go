package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

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

// define creates a kind.
func define(ctx context.Context, c *harness.ControlPlane, of schema.GroupVersionResource, kind, scope string) {
	post(ctx, c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Appendf(nil,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s"},`+
			`"spec":{"group":%[2]q,"scope":%[5]q,"names":{"plural":%[1]q,"singular":%[6]q,"kind":%[4]q,"listKind":"%[4]sList"},`+
			`"versions":[{"name":%[3]q,"served":true,"storage":true,`+
			`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		of.Resource, of.Group, of.Version, kind, scope, strings.ToLower(kind)), false)
}

// post creates an object, unless it is there; with retry until the apiserver serves the kind.
func post(ctx context.Context, c *harness.ControlPlane, path string, body []byte, retry bool) {
	q := harness.Request{Method: http.MethodPost, Path: path, Header: http.Header{"Content-Type": {jsonType}}, Body: body}
	for {
		got := must(c.Raw(user).Do(ctx, q))
		switch {
		case got.Status == http.StatusCreated || got.Status == http.StatusConflict:
			return
		case !retry:
			check(fmt.Errorf("create in %s: %d: %.200s", path, got.Status, got.Body))
		}
		sleep(ctx, settle)
	}
}

// defineKinds creates the kinds with an object of each, and returns the token of a service account that may read all.
func (w *world) defineKinds(ctx context.Context) string {
	read := rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	tokens := w.accounts(ctx, "bench-kinds", 1, read)
	progress("creating %d kinds", w.kinds)
	g, making := newGroup(ctx, definers)
	for i := range w.kinds {
		g.run(func() {
			gvr, kind := kindAt(i), fmt.Sprintf("Kind%d", i%kindsOfGroup)
			define(making, w.plane, gvr, kind, "Cluster")
			object := fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":%q,"metadata":{"name":"only"}}`, gvr.Group, gvr.Version, kind)
			path := "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
			post(making, w.plane, path, object, true)
		})
	}
	g.wait()
	// New kinds make the apiserver work for a while.
	poll(ctx, 0, quietLimit, func() bool { return measureIdle(ctx, quietEvery, w.apiserver)[apiserverName].Share < quietCPU })
	return tokens[0]
}
