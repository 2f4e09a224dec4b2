package proto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand"
	"testing"
)

// mutated returns raw with its fields shuffled, dropped and repeated at every level: everything
// that protobuf allows a sender to do and the apiserver never does.
func mutated(t testing.TB, r *rand.Rand, raw []byte, p *plan) []byte {
	t.Helper()
	var fields [][]byte
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		if err != nil {
			t.Fatal(err)
		}
		whole := raw[i:f.end]
		pf := &p.fields[p.wire[f.num].field]
		switch {
		case pf.op == opMessage, pf.op == opInline, pf.op == opRepeated && pf.elem == opMessage,
			pf.op == opSchemaOrArray, pf.op == opSchemaOrBool, pf.op == opSchemaOrStrings:
			inner := mutated(t, r, raw[f.start:f.end], pf.sub)
			whole = binary.AppendUvarint(nil, uint64(f.num<<3|wireBytes))
			whole = append(binary.AppendUvarint(whole, uint64(len(inner))), inner...)
		}
		switch r.Intn(12) {
		case 0: // dropped
		case 1:
			fields = append(fields, whole, whole)
		default:
			fields = append(fields, whole)
		}
		i = f.end
	}
	if r.Intn(3) == 0 {
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	return bytes.Join(fields, nil)
}

func TestMutatedMessagesEncodeToTheSameValues(t *testing.T) {
	checked := 0
	for apiVersion, kind := range kinds {
		m := mustLookup(t, apiVersion, kind)
		h := fnv.New64()
		h.Write([]byte(apiVersion + kind))
		for i := range *fills {
			seed := int64(h.Sum64()) + int64(i)
			obj := newObject(t, apiVersion, kind)
			newFiller(seed).Fill(obj)
			b := mutated(t, rand.New(rand.NewSource(seed)), raw(t, obj), m.plan)
			if err := m.Check(b); errors.Is(err, ErrForm) {
				continue
			}
			checkJSON(t, m, b)
			checkCBOR(t, m, b)
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("only %d messages had a usual form", checked)
	}
}

// Everything that Check accepts of truncated and corrupted bytes, the oracle must accept too and
// print the same. The reverse need not hold, because the oracle ignores unknown fields.
func TestCheckAcceptsOnlyWhatApimachineryDecodes(t *testing.T) {
	for _, kind := range []kindKey{{"v1", "Pod"}, {"v1", "Node"}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition"}, {"authorization.k8s.io/v1", "SubjectAccessReview"}} {
		m := mustLookup(t, kind.apiVersion, kind.kind)
		for seed := range int64(15) {
			r := rand.New(rand.NewSource(seed))
			obj := newObject(t, kind.apiVersion, kind.kind)
			newFiller(seed).Fill(obj)
			b := raw(t, obj)
			for range 50 {
				broken := bytes.Clone(b[:r.Intn(len(b)+1)])
				if len(broken) > 0 && r.Intn(3) > 0 {
					broken = bytes.Clone(b)
					broken[r.Intn(len(b))] ^= 1 << r.Intn(8)
				}
				checkBroken(t, m, broken)
			}
		}
	}
}

// checkBroken compares with the oracle on bytes that may be invalid.
func checkBroken(t testing.TB, m *Schema, b []byte) {
	t.Helper()
	got, err := m.AppendJSON(nil, b)
	if checked := m.Check(b); checked != nil {
		return // AppendJSON skips an invalid value that a later field replaces
	}
	if err != nil {
		t.Fatalf("Check accepts, AppendJSON: %v\n%x", err, b)
	}
	want, err := oracle(t, m, b, false)
	if err != nil {
		t.Fatalf("%s: oracle refuses: %v\n%s\n%x", m.Kind, err, got, b)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("\n got %s\nwant %s\n%x", around(got, want), around(want, got), b)
	}
}
