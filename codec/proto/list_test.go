package proto

import (
	"bytes"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestListEqualsApimachinery(t *testing.T) {
	remaining := int64(1 << 40)
	negative := int64(-1)
	item := corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	for _, m := range []metav1.ListMeta{
		{},
		{ResourceVersion: "12345"},
		{ResourceVersion: "1", Continue: string(make([]byte, 300)), RemainingItemCount: &remaining},
		{RemainingItemCount: &negative},
		{ResourceVersion: "1", ShardInfo: &metav1.ShardInfo{Selector: "s"}},
		{RemainingItemCount: &remaining, ShardInfo: &metav1.ShardInfo{Selector: string(make([]byte, 300))}},
	} {
		list := &corev1.ConfigMapList{ListMeta: m, Items: []corev1.ConfigMap{item, {}, item}}
		want := raw(t, list)
		got := appendBytes(nil, listMeta, raw(t, &m))
		for i := range list.Items {
			message := raw(t, &list.Items[i])
			before := len(got)
			if got = AppendItem(got, message); len(got)-before != ItemSize(len(message)) {
				t.Errorf("item size %d, want %d", ItemSize(len(message)), len(got)-before)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		checkParsed(t, list, want)
	}
}

func checkParsed(t *testing.T, list *corev1.ConfigMapList, b []byte) {
	m, err := ParseListMeta(b)
	if err != nil || !reflect.DeepEqual(m, list.ListMeta) {
		t.Errorf("ParseListMeta gave %+v, %v", m, err)
	}
	n := 0
	for item, err := range Items(b) {
		if err != nil || !bytes.Equal(item, raw(t, &list.Items[n])) {
			t.Errorf("item %d: %x, %v", n, item, err)
		}
		n++
	}
	if n != len(list.Items) {
		t.Errorf("%d items, want %d", n, len(list.Items))
	}
}
