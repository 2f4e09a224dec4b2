package proto

import (
	"bytes"
	"errors"
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

// A newer apiserver may send fields that are not compiled in.
func TestListsIgnoreUnknownFields(t *testing.T) {
	const bytesField, varintField = "\x32\x01u", "\x38\x07" // fields 6 and 7
	list := []byte("\x0a\x0a" + bytesField + "\x12\x03123" + varintField + bytesField + "\x12\x01i" + varintField)
	if m, err := ParseListMeta(list); err != nil || string(m.ResourceVersion) != "123" {
		t.Errorf("metadata %+v, %v", m, err)
	}
	var items []string
	for item, err := range Items(list) {
		if err != nil {
			t.Error(err)
		}
		items = append(items, string(item))
	}
	if len(items) != 1 || items[0] != "i" {
		t.Errorf("items %q", items)
	}
}

func TestListsRejectInvalidBytes(t *testing.T) {
	for s, want := range map[string]error{
		"\x0a\x00\x12\x09a":    ErrTruncated,
		"\x0a\x00\x1a\x01":     ErrTruncated,
		"\x0a\x00\x10\x00":     ErrWireType,
		"\x0a\x00\x12\x00\x0f": ErrTag,
	} {
		var last error
		for _, err := range Items([]byte(s)) {
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("%q: %v, want %v", s, last, want)
		}
	}
	for _, s := range []string{"\x0a\x09", "\x0a\x02\x32\x01", "\x0a\x02\x20", "\x0a\x02\x22\x00"} {
		if _, err := ParseListMeta([]byte(s)); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}
