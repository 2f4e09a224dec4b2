package harness

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed is an entry of managedFields as an update by this manager leaves it.
func managed(manager, subresource string, at metav1.Time, owned map[string]any) metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(owned)
	if err != nil {
		panic(fmt.Sprintf("harness: managed fields: %v", err)) // maps of maps always marshal
	}
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: raw}, Subresource: subresource,
	}
}

// ownedByController is what whoever created the pod owns.
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

// ownedByKubelet is what whoever wrote the status owns.
func ownedByKubelet(p *corev1.Pod) map[string]any {
	return map[string]any{"f:status": fieldsOf(tree(p.Status))}
}

// tree is v as plain JSON.
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

// listKeys are the lists of a pod whose items are owned one by one, and the fields that tell items
// apart. Others, like tolerations, are owned as a whole.
var listKeys = map[string][]string{
	"conditions":      {"type"},
	"containers":      {"name"},
	"env":             {"name"},
	"hostIPs":         nil,
	"initContainers":  {"name"},
	"ownerReferences": {"uid"},
	"podIPs":          {"ip"},
	"ports":           {"containerPort", "protocol"},
	"volumeMounts":    {"mountPath"},
	"volumes":         {"name"},
}

// atomic are the structs that are owned as a whole: all of them are references by selector.
var atomic = map[string]bool{"fieldRef": true, "secretKeyRef": true, "limits": false}

// fieldsOf turns JSON into the notation of FieldsV1 for somebody who owns all of it.
func fieldsOf(v any) map[string]any {
	fields := make(map[string]any)
	object, ok := v.(map[string]any)
	if !ok {
		return fields
	}
	for name, value := range object {
		items, isList := value.([]any)
		switch keys := listKeys[name]; {
		case atomic[name]:
			fields["f:"+name] = map[string]any{}
		case isList && keys != nil:
			fields["f:"+name] = itemsOf(items, keys)
		case isMap(name):
			fields["f:"+name] = withSelf(fieldsOf(value))
		default:
			fields["f:"+name] = fieldsOf(value)
		}
	}
	return fields
}

// itemsOf is the notation for a list whose items have keys.
func itemsOf(items []any, keys []string) map[string]any {
	fields := map[string]any{".": map[string]any{}}
	for _, item := range items {
		object := item.(map[string]any)
		var key []string
		for _, k := range keys {
			value, _ := json.Marshal(object[k]) // a string or number
			key = append(key, fmt.Sprintf("%q:%s", k, value))
		}
		fields["k:{"+strings.Join(key, ",")+"}"] = withSelf(fieldsOf(object))
	}
	return fields
}

// isMap tells the fields below which the notation says that the field itself is owned too.
func isMap(name string) bool {
	switch name {
	case "annotations", "labels", "limits", "requests", "resources", "securityContext", "capabilities",
		"configMap", "projected", "httpGet", "livenessProbe", "readinessProbe", "valueFrom":
		return true
	}
	return false
}

func withSelf(fields map[string]any) map[string]any {
	fields["."] = map[string]any{}
	return fields
}
