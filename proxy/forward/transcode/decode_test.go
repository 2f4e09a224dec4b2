package transcode

import (
	"errors"
	"math"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

func TestBodyWithTooManyNodesIsNotDecoded(t *testing.T) {
	for _, b := range []*requestBody{
		{encoding: codec.CBOR, Body: Body{Bytes: []byte("\x9a\x00\x04\x00\x00" + strings.Repeat("\xa1\x40\x01", 1<<18))}},
		{encoding: codec.YAML, Body: Body{Bytes: []byte("[" + strings.Repeat("{a},", 1<<18) + "]")}},
	} {
		var status *apierrors.StatusError
		memory, _ := newReservation(1 << 30)
		if err := b.decode(&request.Info{}, memory); !errors.As(err, &status) || status.ErrStatus.Code != 413 || b.json != nil {
			t.Errorf("encoding %v: error is %v", b.encoding, err)
		}
	}
}

// newReservation returns an empty reservation of an account that may take so many bytes, and a function that
// returns how many it has taken.
func newReservation(bytes int64) (*reservation, func() int64) {
	l := accounts.New(accounts.Totals{accounts.Bodies: bytes * 4 / 3}, math.MaxInt64)
	g, _ := l.Account(accounts.ByUser("jane")).Take(accounts.Bodies, 0)
	return &reservation{grant: g}, func() int64 { return l.Usage(accounts.Bodies).Used }
}

// FuzzDecode feeds arbitrary bodies: the result is JSON or a Status, and the memory is given back.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"\xd9\xd9\xf7\xa3DkindEThingJapiVersionBv1Dspec\xa1An\x01", "kind: Thing\nmetadata:\n  name: a\nspec: {n: 1}\n",
		"\xbf\xff", "\x9f", "\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "\xd6\x41x", "a: &a [*a]", "a: 1\na: 2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, encoding := range []codec.Encoding{codec.CBOR, codec.YAML} {
			memory, taken := newReservation(1 << 30)
			b := &requestBody{Body: Body{Bytes: []byte(body)}, encoding: encoding, jsonType: codec.MediaJSON}
			var status *apierrors.StatusError
			switch err := b.decode(&request.Info{}, memory); {
			case err == nil:
				if err := json.Valid(b.json, json.Limits{}); err != nil {
					t.Errorf("%q became %q: %v", body, b.json, err)
				}
			case !errors.As(err, &status) || status.ErrStatus.Code != 400 && status.ErrStatus.Code != 413:
				t.Errorf("%q: %v", body, err)
			}
			if memory.release(); taken() != 0 {
				t.Errorf("%d bytes are taken", taken())
			}
		}
	})
}
