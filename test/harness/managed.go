package harness

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed returns the managedFields entry of an update by a manager.
func managed(manager, subresource string, at metav1.Time, owned map[string]any) metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(owned)
	if err != nil {
		panic(fmt.Sprintf("harness: managed fields: %v", err)) // maps of maps always marshal
	}
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)), Subresource: subresource,
	}
}

// ownedByController returns the fields that the creator of the pod owns.
func ownedByController(p *corev1.Pod) map[string]any {
	return map[string]any{
		"f:metadata": fieldsOf(map[string]any{
			"annotations":     tree(p.Annotations),
			"generateName":    p.GenerateName,
			"labels":          tree(p.Labels),
			"ownerReferences": tree(p.OwnerReferences),
		}),
		"f:spec": fieldsOf(tree(p.Spec)),
	}
}

// ownedByKubelet returns the fields that the writer of the status owns.
func ownedByKubelet(p *corev1.Pod) map[string]any {
	status := fieldsOf(tree(p.Status))
	delete(status, "f:qosClass") // the apiserver sets it when the pod is created
	return map[string]any{"f:status": status}
}

// tree returns v as decoded JSON.
func tree(v any) any {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		panic(fmt.Sprintf("harness: managed fields: %v", err)) // API types always marshal
	}
	return v
}

// listKeys maps the associative lists of a pod to their keys. Other lists, like tolerations, are
// atomic.
var listKeys = map[string][]string{
	"conditions":      {"type"},
	"containers":      {"name"},
	"env":             {"name"},
	"ownerReferences": {"uid"},
	"podIPs":          {"ip"},
	"ports":           {"containerPort", "protocol"},
	"volumeMounts":    {"mountPath"},
	"volumes":         {"name"},
}

// atomicFields contains the fields whose struct, or whose items, are atomic.
var atomicFields = map[string]bool{"fieldRef": true, "secretKeyRef": true, "ownerReferences": true}

// optional contains the fields that can be present and empty, so that they are owned themselves.
var optional = map[string]bool{
	"annotations": true, "labels": true, "requests": true, "resources": true, "httpGet": true,
	"projected": true, "readinessProbe": true, "valueFrom": true,
}

// fieldsOf returns the FieldsV1 of a manager that owns all of v.
func fieldsOf(v any) map[string]any {
	fields := make(map[string]any)
	object, _ := v.(map[string]any) // anything else has no fields
	for name, value := range object {
		fields["f:"+name] = owned(name, value)
	}
	return fields
}

// owned returns the FieldsV1 of one field.
func owned(name string, value any) map[string]any {
	if items, ok := value.([]any); ok && listKeys[name] != nil {
		return itemsOf(name, items)
	}
	if atomicFields[name] {
		return map[string]any{}
	}
	fields := fieldsOf(value)
	if optional[name] && len(fields) > 0 {
		withSelf(fields)
	}
	return fields
}

// itemsOf returns the FieldsV1 of an associative list.
func itemsOf(list string, items []any) map[string]any {
	fields := make(map[string]any)
	if list != "containers" { // required, so the list itself is not owned
		withSelf(fields)
	}
	for _, item := range items {
		object := item.(map[string]any)
		inner := make(map[string]any)
		if !atomicFields[list] {
			inner = withSelf(fieldsOf(object))
		}
		fields[itemKey(object, listKeys[list])] = inner
	}
	return fields
}

func itemKey(object map[string]any, keys []string) string {
	pairs := make([]string, len(keys))
	for i, k := range keys {
		value, _ := json.Marshal(object[k]) // a string or number
		pairs[i] = fmt.Sprintf("%q:%s", k, value)
	}
	return "k:{" + strings.Join(pairs, ",") + "}"
}

func withSelf(fields map[string]any) map[string]any {
	fields["."] = map[string]any{}
	return fields
}
