package resources

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// collectionPath returns the path of the whole collection of a resource.
func collectionPath(r schema.GroupVersionResource) string {
	return versionPath(r.GroupVersion()) + "/" + r.Resource
}

func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// describe asks the upstream what the resource is: in discovery, and by a list
// of one item, whose form tells typed from unstructured resources and whose
// headers hold the warnings that every read of it brings.
func (s *source) describe(ctx context.Context) error {
	kind, namespaced, err := s.discover(ctx)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	elsewhere, err := s.aggregated(ctx)
	if err != nil {
		return err
	}
	if elsewhere {
		return fmt.Errorf("%s is served by an extension server: %w", s.gvr, reflector.ErrAbsent)
	}
	list, header, err := s.get(ctx, collectionPath(s.gvr), url.Values{"limit": {"1"}}, codec.MediaJSON)
	if err != nil {
		return fmt.Errorf("first look: %w", err)
	}
	r := codec.Resource{
		Group: s.gvr.Group, Version: s.gvr.Version, Resource: s.gvr.Resource,
		Kind: kind, Namespaced: namespaced, Style: styleOf(list),
	}
	listKind, ok := json.Value(list).Get("kind").Text()
	if !ok {
		return fmt.Errorf("first look: list without kind: %w", reflector.ErrAbsent)
	}
	r.ListKind = listKind
	s.resource, s.warnings, s.plan = r, header["Warning"], nil
	if err := s.describeFields(ctx); err != nil {
		return err
	}
	s.printable, err = s.tables(ctx)
	return err
}

// describeFields finds out where the objects' selectable fields lie, and with
// that in which encoding they can be read.
func (s *source) describeFields(ctx context.Context) error {
	r := &s.resource
	plan, known := proto.Lookup(r.APIVersion(), r.Kind)
	s.definition = nil
	switch {
	case r.Style == codec.Unstructured:
		d, err := s.define(ctx, r.Namespaced)
		if err != nil {
			return err
		}
		s.definition = d
		s.fields, r.Columns = d.fields, d.columns
	case known && !s.jsonOnly:
		s.plan, r.Source = plan, codec.Protobuf
		s.fields = builtinFields(r.APIVersion(), r.Kind, plan)
	case known:
		s.fields = builtinFields(r.APIVersion(), r.Kind, nil)
	default:
		s.fields = &fields{}
	}
	return nil
}

// discover finds the resource in the upstream's discovery of its version.
func (s *source) discover(ctx context.Context) (kind string, namespaced bool, err error) {
	list, _, err := s.get(ctx, versionPath(s.gvr.GroupVersion()), nil, codec.MediaJSON)
	if err != nil {
		return "", false, err
	}
	for _, r := range json.Value(list).Get("resources").Elements {
		if name, _ := r.Get("name").Text(); name != s.gvr.Resource {
			continue
		}
		var verbs []string
		for _, v := range r.Get("verbs").Elements {
			verb, _ := v.Text()
			verbs = append(verbs, verb)
		}
		if !slices.Contains(verbs, "list") || !slices.Contains(verbs, "watch") {
			return "", false, fmt.Errorf("%s cannot be watched: %w", s.gvr.Resource, reflector.ErrAbsent)
		}
		kind, _ = r.Get("kind").Text()
		namespaced, _ = r.Get("namespaced").Bool()
		return kind, namespaced, nil
	}
	return "", false, fmt.Errorf("%s: %w", s.gvr, reflector.ErrAbsent)
}

// styleOf tells from the order of a list's members what serves it: objects
// without a Go type are printed with sorted keys.
func styleOf(list json.Value) codec.Style {
	for key := range list.Members {
		if string(key) == "kind" {
			return codec.Typed
		}
		break
	}
	return codec.Unstructured
}
