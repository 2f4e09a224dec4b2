package tables

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
)

const (
	namespace = "tables"
	fillLimit = 5 * time.Minute
)

// A writer writes the objects of testdata.
type writer struct {
	ctx    context.Context
	client dynamic.Interface
	mapper meta.RESTMapper
}

// fill writes all objects and returns the errors of those that failed.
func fill() error {
	ctx, cancel := context.WithTimeout(context.Background(), fillLimit)
	defer cancel()
	w, err := newWriter(ctx)
	if err != nil {
		return err
	}
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	if err := w.write(ns); err != nil {
		return err
	}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, w.writeFile(file))
	}
	return errors.Join(errs...)
}

func newWriter(ctx context.Context) (*writer, error) {
	cfg := server.RESTConfig("admin")
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		return nil, err
	}
	return &writer{ctx, client, restmapper.NewDiscoveryRESTMapper(groups)}, nil
}

// writeFile writes the documents of one file. NS stands for the namespace in them.
func (w *writer) writeFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(": NS"), []byte(": "+namespace))
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var errs []error
	for {
		u := &unstructured.Unstructured{}
		switch err := docs.Decode(u); {
		case errors.Is(err, io.EOF):
			return errors.Join(errs...)
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := w.write(u); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", file, u.GetKind(), u.GetName(), err))
		}
	}
}

// write creates an object, then writes its status, then deletes it if it has finalizers.
func (w *writer) write(u *unstructured.Unstructured) error {
	r, err := w.resource(u)
	if err != nil {
		return err
	}
	made, err := r.Create(w.ctx, u, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if status, ok := u.Object["status"].(map[string]any); ok {
		if err := w.writeStatus(r, made, status); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	if len(u.GetFinalizers()) == 0 {
		return nil
	}
	return r.Delete(w.ctx, u.GetName(), metav1.DeleteOptions{})
}

func (w *writer) resource(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := u.GroupVersionKind()
	m, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return w.client.Resource(m.Resource).Namespace(cmp.Or(u.GetNamespace(), namespace)), nil
	}
	return w.client.Resource(m.Resource), nil
}

// writeStatus writes the status through its subresource. The decision about a signing request must be
// written through the subresource approval first.
func (w *writer) writeStatus(r dynamic.ResourceInterface, made *unstructured.Unstructured, status map[string]any) error {
	subresources := []string{"status"}
	if made.GetKind() == "CertificateSigningRequest" {
		subresources = []string{"approval", "status"}
	}
	for _, sub := range subresources {
		if err := w.update(r, made.GetName(), status, sub); err != nil {
			return err
		}
	}
	return nil
}

// update retries on conflicts with the apiserver's own controllers.
func (w *writer) update(r dynamic.ResourceInterface, name string, status map[string]any, subresource string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		u, err := r.Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		u.Object["status"] = status
		_, err = r.Update(w.ctx, u, metav1.UpdateOptions{}, subresource)
		return err
	})
}
