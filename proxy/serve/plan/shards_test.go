package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apisharding "k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/sharding"

	"sluice/cache/tree"
	"sluice/codec"
)

// sources are resources in both encodings in which objects are stored.
var sources = map[string]codec.Resource{
	"Protobuf": {Source: codec.Protobuf},
	"JSON":     {Source: codec.JSON},
}

// stored returns an object as a store holds it, and its Go type.
func stored(t testing.TB, r *codec.Resource, namespace, uid string) (*tree.Object, *corev1.ConfigMap) {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "n", UID: types.UID(uid), Labels: map[string]string{"uid": "x"}}}
	data, err := o.Marshal()
	if r.Source == codec.JSON {
		data = fmt.Appendf(nil, `{"kind":"K","apiVersion":"v1","uid":"x","metadata":{"labels":{"uid":"x"},"name":"n","namespace":%q,"uid":%q}}`, namespace, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &tree.Object{Key: tree.KeyOf(namespace, "n"), RV: 1, Data: data}, o
}

// bound returns a random bound, sometimes an extreme one.
func bound() string {
	switch rand.N(6) {
	case 0:
		return "0x0000000000000000"
	case 1:
		return "0x10000000000000000"
	}
	return fmt.Sprintf("0x%016x", rand.Uint64())
}

func TestShardsSelectWhatApimachinerySelects(t *testing.T) {
	for name, r := range sources {
		t.Run(name, func(t *testing.T) {
			selected := 0
			for range 500 {
				text, separator := "", ""
				field := []string{"uid", "namespace"}[rand.N(2)]
				for range 1 + rand.N(3) {
					text += fmt.Sprintf("%sshardRange(object.metadata.%s,'%s','%s')", separator, field, bound(), bound())
					separator = "||"
				}
				want, err := sharding.Parse(text)
				got, gotErr := newShards(text, &r)
				if (err == nil) != (gotErr == nil) {
					t.Fatalf("%s: %v, want %v", text, gotErr, err)
				}
				if err != nil {
					continue
				}
				if got.selector != want.String() {
					t.Fatalf("%s is printed as %s, want %s", text, got.selector, want)
				}
				for _, namespace := range []string{"", "a", uuid.NewString()} {
					o, typed := stored(t, &r, namespace, uuid.NewString())
					matches, err := want.Matches(typed)
					if err != nil || got.match(o) != matches || got.match(o) != matches {
						t.Fatalf("%s of %s: %v, want %v, %v", text, typed.UID, got.match(o), matches, err)
					}
					if matches {
						selected++
					}
				}
			}
			if selected == 0 {
				t.Error("no shard selects anything")
			}
		})
	}
}

func TestShardRangeExcludesItsEnd(t *testing.T) {
	r := sources["Protobuf"]
	o, _ := stored(t, &r, "ns", "u")
	hash := shardHash("u")
	if want := apisharding.HashField("u"); fmt.Sprintf("%016x", hash) != want {
		t.Fatalf("hash %016x, want %s", hash, want)
	}
	for bounds, want := range map[string]bool{
		fmt.Sprintf("'0x%016x','0x%016x'", hash, hash+1):     true,
		fmt.Sprintf("'0x%016x','0x%016x'", hash-1, hash):     false,
		fmt.Sprintf("'0x%016x','0x%016x'", hash+1, hash+2):   false,
		fmt.Sprintf("'0x%016x','0x10000000000000000'", hash): true,
		"'0x0000000000000000','0x10000000000000000'":         true,
		fmt.Sprintf("'0x0000000000000000','0x%016x'", hash):  false,
	} {
		s, err := newShards("shardRange(object.metadata.uid,"+bounds+")", &r)
		if err != nil || s.match(o) != want {
			t.Errorf("%s: %v, want %v", bounds, err, want)
		}
	}
}

func TestInvalidShardSelectorGetsTheErrorOfTheAPIServer(t *testing.T) {
	r := sources["JSON"]
	_, err := newShards("shardRange(object.metadata.name,'0x0','0x1')", &r)
	var bad invalidShardSelector
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	const want = `invalid shard selector: unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace`
	if bad.Error() != want {
		t.Errorf("got %s, want %s", bad, want)
	}
}
