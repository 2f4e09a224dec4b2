package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// Discovery describes one resource of the apiserver. It is safe for concurrent use.
type Discovery struct {
	server
	gvr schema.GroupVersionResource
	// refusedUntil is until when CRDs are not listed, in Unix nanoseconds.
	refusedUntil atomic.Int64
}

// New returns the Discovery of a resource.
func New(u *upstream.Upstream, gvr schema.GroupVersionResource) *Discovery {
	return &Discovery{server: server{u}, gvr: gvr}
}

// ResourcePath returns the path of the resource in all namespaces, such as "/apis/apps/v1/deployments".
func (d *Discovery) ResourcePath() string {
	return request.GroupVersionPath(d.gvr.Group, d.gvr.Version) + "/" + d.gvr.Resource
}

// Describe returns the present Description of the resource; was is the last one, or nil. Its objects are stored as Protobuf if
// their message is compiled in, as the apiserver prints it, and jsonOnly is false, else as JSON. Errors are ErrNotCacheable,
// apierrors.StatusError, errors of the transport, and others while the apiserver lags behind etcd.
func (d *Discovery) Describe(ctx context.Context, was *Description, jsonOnly bool) (*Description, error) {
	kind, namespaced, own, err := d.discover(ctx)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if aggregated, err := d.Aggregated(ctx); err != nil {
		return nil, err
	} else if aggregated {
		return nil, fmt.Errorf("%s is served by an extension server: %w", d.gvr, ErrNotCacheable)
	}
	// The form of the list tells typed from unstructured resources. A user that may update the first object can nest its
	// managed fields as deep as the apiserver permits, which in a list is deeper.
	list, header, err := d.getJSON(ctx, d.ResourcePath(), url.Values{"limit": {"1"}}, codec.MediaJSON)
	if err != nil && !errors.Is(err, json.ErrDepth) {
		return nil, fmt.Errorf("first list: %w", err)
	}
	listKind, ok := list.Get("kind").Text()
	if !ok {
		return nil, fmt.Errorf("first list has no kind: %w", ErrNotCacheable)
	}
	remaining, _ := list.Get("metadata", "remainingItemCount").Int()
	warnings := slices.DeleteFunc(header["Warning"], func(w string) bool { return slices.Contains(own, w) })
	out := &Description{release: d.release(ctx), Warnings: warnings, ListBytes: int64(len(list)) * (1 + remaining),
		ListLength: 1 + remaining, Resource: codec.Resource{
			Group: d.gvr.Group, Version: d.gvr.Version, Resource: d.gvr.Resource,
			Kind: kind, ListKind: listKind, Namespaced: namespaced, Style: styleOf(list),
		}}
	out.Minor = out.release.minor()
	out.Resource.ShardInfo = out.Minor >= 38
	if err := d.describeObjects(ctx, out, jsonOnly || out.outgrown(list)); err != nil {
		return nil, err
	}
	out.succeed(was)
	out.CompressesStreamingLists = d.compressesStreamingLists(ctx)
	out.SelectsShards = d.selectsShards(ctx)
	out.Resource.Columns, err = d.columns(ctx, &out.Resource, out.Minor, out.declared)
	return out, err
}

// describeObjects sets the encoding of the stored objects and the fields that depend on their schema.
func (d *Discovery) describeObjects(ctx context.Context, out *Description, jsonOnly bool) error {
	r := &out.Resource
	if r.Style == codec.Unstructured {
		if r.WholeFloats = !jsonOnly && d.supportsCBOR(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
		return d.describeCustom(ctx, out)
	}
	s, known := proto.Lookup(r.APIVersion(), r.Kind)
	if !known {
		return d.checkBuiltin(ctx)
	}
	if !jsonOnly {
		out.Schema, r.Source = s, codec.Protobuf
	}
	out.Fields = BuiltinFields(r.APIVersion(), r.Kind, out.Schema)
	return nil
}

// checkBuiltin returns an error if a resource with Go types, which the apiserver is to serve by itself, has a CRD: an extension
// server has answered so far, to which the aggregator leads as long as it lags.
func (d *Discovery) checkBuiltin(ctx context.Context) error {
	switch _, _, err := d.crd(ctx); {
	case notServed(err), forbidden(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("typed objects, but a CRD: %w", errLagging)
}

// supportsCBOR reports whether the apiserver writes the resource in CBOR, which has floats that JSON does
// not distinguish from integers.
func (d *Discovery) supportsCBOR(ctx context.Context) bool {
	_, header, err := d.upstream.Get(ctx, d.ResourcePath(), url.Values{"limit": {"1"}}, codec.MediaCBOR+","+codec.MediaJSON)
	return err == nil && header.Get("Content-Type") == codec.MediaCBOR
}

// compressesStreamingLists opens a streaming list without objects. The apiserver sends the headers at once, because
// any version will do.
func (d *Discovery) compressesStreamingLists(ctx context.Context) bool {
	coding, err := d.upstream.Coding(ctx, d.ResourcePath(), url.Values{
		"watch": {"true"}, "sendInitialEvents": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {"1"},
		"resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"}, "fieldSelector": {FieldName + "=-"},
	}, codec.MediaJSON+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	return err == nil && coding == "gzip"
}

const (
	// everyShard selects all objects.
	everyShard = "shardRange(object.metadata.uid,'0x0000000000000000','0x10000000000000000')"
)

// selectsShards lists no objects to find out whether the apiserver selects shards. It does not if it does not answer.
func (d *Discovery) selectsShards(ctx context.Context) bool {
	list, _, err := d.getJSON(ctx, d.ResourcePath(), url.Values{
		"limit": {"1"}, "resourceVersion": {"0"}, "fieldSelector": {FieldName + "=-"}, "shardSelector": {everyShard},
	}, codec.MediaJSON)
	return err == nil && list.Get("metadata", "shardInfo") != nil
}

// discover finds the resource in the discovery document of its version. The document belongs to no resource, so that its
// warnings are about the credentials of Sluice itself.
func (d *Discovery) discover(ctx context.Context) (kind string, namespaced bool, warnings []string, err error) {
	list, header, err := d.getJSON(ctx, request.GroupVersionPath(d.gvr.Group, d.gvr.Version), nil, codec.MediaJSON)
	if err != nil {
		return "", false, nil, err
	}
	for _, r := range list.Get("resources").Elements {
		if name, _ := r.Get("name").Text(); name != d.gvr.Resource {
			continue
		}
		var verbs []string
		for _, v := range r.Get("verbs").Elements {
			verb, _ := v.Text()
			verbs = append(verbs, verb)
		}
		if !slices.Contains(verbs, "list") || !slices.Contains(verbs, "watch") {
			return "", false, nil, fmt.Errorf("%s cannot be listed and watched: %w", d.gvr, ErrNotCacheable)
		}
		kind, _ = r.Get("kind").Text()
		namespaced, _ = r.Get("namespaced").Bool()
		return kind, namespaced, header["Warning"], nil
	}
	return "", false, nil, fmt.Errorf("%s is not served: %w", d.gvr, ErrNotCacheable)
}

// server is the apiserver.
type server struct{ upstream *upstream.Upstream }

// Served returns the resources of a group and version that discovery names, by themselves or with a
// subresource; none if the apiserver does not serve the version.
func Served(ctx context.Context, u *upstream.Upstream, version schema.GroupVersion) (map[string]bool, error) {
	path := request.GroupVersionPath(version.Group, version.Version)
	document, _, err := server{u}.getJSON(ctx, path, nil, codec.MediaJSON)
	if notServed(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	served := map[string]bool{}
	for _, r := range document.Get("resources").Elements {
		name, _ := r.Get("name").Text()
		resource, _, _ := strings.Cut(name, "/")
		served[resource] = true
	}
	return served, nil
}

// Aggregated reports whether an extension server serves the resource. Its responses may depend on
// the caller in ways that a SubjectAccessReview does not show, so they must not be shared.
func (d *Discovery) Aggregated(ctx context.Context) (bool, error) {
	if d.gvr.Group == "" || d.gvr.Group == APIServices.Group {
		return false, nil
	}
	path := request.GroupVersionPath(APIServices.Group, APIServices.Version) + "/" + APIServices.Resource + "/" + d.gvr.Version + "." + d.gvr.Group
	service, _, err := d.getJSON(ctx, path, nil, codec.MediaJSON)
	if notServed(err) {
		return false, d.lacking(ctx, APIServices, err)
	}
	if err != nil {
		return false, fmt.Errorf("APIService: %w", err)
	}
	return service.Get("spec", "service").Kind() == json.Object, nil
}

// APIServices are the APIServices. An aggregator makes one for each version that the apiserver itself serves, except its own.
var APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// lacking returns errLagging for the cause that there is no object of a resource that the apiserver serves, and nil if
// the apiserver does not have such objects at all.
func (s server) lacking(ctx context.Context, resource schema.GroupVersionResource, cause error) error {
	served, err := Served(ctx, s.upstream, resource.GroupVersion())
	if err == nil && served[resource.Resource] {
		return fmt.Errorf("%v: %w", cause, errLagging)
	}
	return err
}

// getJSON gets an object or list in a form of JSON. Managed fields need not be UTF-8.
func (s server) getJSON(ctx context.Context, path string, query url.Values, accept string) (json.Value, http.Header, error) {
	body, header, err := s.upstream.Get(ctx, path, query, accept)
	if err != nil {
		return nil, nil, err
	}
	return body, header, json.Valid(body, 0)
}

// notServed reports whether the apiserver does not serve the path of the request.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// forbidden reports whether Sluice itself may not read the path of the request.
func forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// transient reports whether a repeated request may be answered otherwise.
func transient(err error) bool {
	if errors.Is(err, upstream.ErrTooLong) {
		return false
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return true
	}
	switch status.ErrStatus.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// styleOf returns the style of a resource by the order of the members of a list: the apiserver prints
// the members of objects without a Go type in the order of their names, so that "apiVersion" is first.
func styleOf(list json.Value) codec.Style {
	for key := range list.Members {
		if string(key) == "kind" {
			return codec.Typed
		}
		break
	}
	return codec.Unstructured
}
