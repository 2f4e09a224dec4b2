package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"sluice/test/harness"
)

// cached are the resources that rows expect to be served from the cache.
var cached = []string{
	"/api/v1/configmaps",
	"/api/v1/endpoints",
	"/api/v1/resourcequotas",
	"/api/v1/limitranges",
	"/api/v1/namespaces",
	"/api/v1/nodes",
	"/api/v1/persistentvolumes",
	"/api/v1/pods",
	"/api/v1/replicationcontrollers",
	"/api/v1/secrets",
	"/api/v1/serviceaccounts",
	"/api/v1/services",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"/apis/apiregistration.k8s.io/v1/apiservices",
	"/apis/apps/v1/deployments",
	"/apis/batch/v1/cronjobs",
	"/apis/batch/v1/jobs",
	"/apis/certificates.k8s.io/v1/certificatesigningrequests",
	"/apis/coordination.k8s.io/v1/leases",
	"/apis/ex.io/v1/bars",
	"/apis/ex.io/v1/foos",
	"/apis/ex.io/v1/gems",
	"/apis/ex.io/v1alpha1/gems",
	"/apis/ex.io/v1beta1/gems",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"/apis/resource.k8s.io/v1/resourceslices",
	"/apis/storage.k8s.io/v1/csinodes",
}

// resourceName returns the name of a resource in the readiness report of Sluice, such as pods.v1.
func resourceName(collection string) string {
	parts := strings.Split(strings.Trim(collection, "/"), "/")
	if parts[0] == "api" {
		return parts[2] + "." + parts[1]
	}
	return parts[3] + "." + parts[2] + "." + parts[1]
}

// synchronize has Sluice cache the collections and returns a resource version in the history of every
// cache: once all caches are synced, it changes an object of each collection, waits until all caches
// have their change, and returns the version of the first.
func synchronize(ctx context.Context, apiserver server, sluice *harness.Sluice, collections []string) (string, error) {
	for _, c := range collections {
		if err := harness.Poll(ctx, func() error { return sluice.CacheSynced(ctx, c, resourceName(c)) }); err != nil {
			return "", fmt.Errorf("%s: %w", c, err)
		}
	}
	touched := make([]uint64, len(collections))
	for i, c := range collections {
		var err error
		if touched[i], err = touch(ctx, apiserver, c); err != nil {
			return "", err
		}
	}
	for i, c := range collections {
		if err := harness.Poll(ctx, func() error { return caughtUp(ctx, apiserver, sluice, c, touched[i]) }); err != nil {
			return "", fmt.Errorf("%s: %w", c, err)
		}
	}
	return strconv.FormatUint(touched[0], 10), nil
}

type list struct {
	Metadata struct{ ResourceVersion, Continue string }
	Items    []object
}

// touch changes the first object of a collection and returns its new resource version.
func touch(ctx context.Context, apiserver server, collection string) (uint64, error) {
	var l list
	if err := fetch(ctx, apiserver, collection+"?limit=1", &l); err != nil {
		return 0, err
	}
	if len(l.Items) == 0 {
		return 0, fmt.Errorf("%s is empty", collection)
	}
	meta := l.Items[0].Metadata
	one := collection + "/" + meta.Name
	if meta.Namespace != "" {
		dir, resource := path.Split(collection)
		one = dir + "namespaces/" + meta.Namespace + "/" + resource + "/" + meta.Name
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano())
	a, err := apiserver.Raw("admin").Write(ctx, http.MethodPatch, one, patch)
	if err != nil {
		return 0, err
	}
	var o object
	if err := json.Unmarshal(a.Body, &o); err != nil {
		return 0, err
	}
	return strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
}

// caughtUp returns an error until the caches of both servers have reached the version and are
// equal.
func caughtUp(ctx context.Context, apiserver, sluice server, collection string, version uint64) error {
	var bodies [2][]byte
	for i, s := range []server{apiserver, sluice} {
		a, err := s.Raw("admin").Get(ctx, collection+"?resourceVersion=0", "application/json")
		if err != nil {
			return err
		}
		var l list
		if err := json.Unmarshal(a.Body, &l); err != nil {
			return err
		}
		if v, err := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64); err != nil || v < version {
			return fmt.Errorf("%T is at resource version %s, want %d", s, l.Metadata.ResourceVersion, version)
		}
		bodies[i] = normalize(a.Body, a.Header, false)
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		return fmt.Errorf("apiserver has\n%s\nSluice has\n%s", bodies[0], bodies[1])
	}
	return nil
}
