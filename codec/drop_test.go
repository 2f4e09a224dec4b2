package codec

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sluice/codec/projection"
)

// managedPods returns stored objects of a resource with managedFields, and the same without.
func managedPods(t testing.TB, r *Resource, n int) (with, without [][]byte) {
	for i := range n {
		p := pod(i)
		switch i {
		case 1: // nothing to leave out
			p.ManagedFields = nil
		case 2: // nothing else
			p.ObjectMeta = metav1.ObjectMeta{ManagedFields: p.ManagedFields}
		}
		q := p.DeepCopy()
		q.ManagedFields = nil
		with, without = append(with, storedIn(t, r, p)), append(without, storedIn(t, r, q))
	}
	return with, without
}

// TestDroppedManagedFieldsLeaveNoTrace compares, in every format, objects whose managedFields are dropped
// with objects that never had any.
func TestDroppedManagedFieldsLeaveNoTrace(t *testing.T) {
	written := 0
	for _, r := range []*Resource{podsProto, podsJSON, foos} {
		for _, e := range []Encoding{JSON, YAML, Protobuf, CBOR} {
			for _, plain := range []Format{{}, {Shape: Metadata}, {Shape: Metadata, MetaVersion: MetaV1beta1}, {Shape: Table}, {Shape: Table, Include: IncludeObject}} {
				plain.Encoding = e
				dropped := plain
				dropped.Projection = projection.WithoutManagedFields
				got, err := NewWriter(r, dropped)
				want, wantErr := NewWriter(r, plain)
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s %+v: %v, want %v", r.Resource, plain, err, wantErr)
				}
				if err != nil || wantErr != nil {
					continue
				}
				written++
				t.Run(fmt.Sprintf("%s of %v to %+v", r.Resource, r.Source, plain), func(t *testing.T) {
					compareDropped(t, r, got, want)
				})
			}
		}
	}
	if written < 30 {
		t.Errorf("only %d formats", written)
	}
}

func compareDropped(t *testing.T, r *Resource, got, want *Writer) {
	now := metav1.Now().Time
	got, want = got.At(now), want.At(now)
	with, without := managedPods(t, r, 4)
	equal(t, writeList(t, got, listMetas[1], with), writeList(t, want, listMetas[1], without))
	for i := range with {
		one, err := got.AppendObject(nil, with[i])
		other, wantErr := want.AppendObject(nil, without[i])
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		equal(t, one, other)
		if got.Format().Encoding == YAML {
			continue
		}
		for _, first := range []bool{true, false} {
			one, err := got.AppendEvent(nil, string(watch.Modified), with[i], first)
			other, wantErr := want.AppendEvent(nil, string(watch.Modified), without[i], first)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			equal(t, one, other)
		}
	}
}
