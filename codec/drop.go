package codec

import (
	"sluice/codec/json"
	"sluice/codec/proto"
)

// unmanaged gives the stored bytes without metadata.managedFields: to a client as they are, or to another body.
type unmanaged struct{ source Encoding }

func (u unmanaged) object(dst, src []byte, _ bool) ([]byte, error) { return u.item(dst, src) }
func (u unmanaged) item(dst, src []byte) ([]byte, error) {
	if u.source == Protobuf {
		return proto.AppendWithoutManagedFields(dst, src)
	}
	return json.AppendWithoutManagedFields(dst, src)
}

// dropManagedFields is b for objects whose metadata.managedFields are left out first, so that no shape has them.
func dropManagedFields(b body, r *Resource) body {
	u := unmanaged{r.Source}
	if b == (copied{}) {
		return u
	}
	return fed{by: u, of: b}
}

// fed feeds a body with what another one gives, one object at a time.
type fed struct{ by, of body }

func (f fed) object(dst, src []byte, first bool) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = f.by.item(s.b[:0], src); err != nil {
		return dst, err
	}
	return f.of.object(dst, s.b, first)
}

func (f fed) item(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = f.by.item(s.b[:0], src); err != nil {
		return dst, err
	}
	return f.of.item(dst, s.b)
}
