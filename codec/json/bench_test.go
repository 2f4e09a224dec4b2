package json

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"sluice/test/support/jsontest"
)

func BenchmarkObjectMeta(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseObjectMeta(f.JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValid(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name+"/sluice", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Valid(f.JSON, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.Name+"/std", func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				stdjson.Valid(f.JSON)
			}
		})
	}
}

func BenchmarkSkip(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(f.JSON)))
			for b.Loop() {
				skipValue(f.JSON, 0)
			}
		})
	}
}

// BenchmarkIndent indents what a segment memoizes, and copies as much as that becomes: what any way of indenting costs.
func BenchmarkIndent(b *testing.B) {
	for _, f := range jsontest.Realistic() {
		items := bytes.TrimSuffix(bytes.Repeat(append(f.JSON[:len(f.JSON):len(f.JSON)], ','), 32), []byte(","))
		indented := AppendIndent(nil, items, 2)
		dst := make([]byte, 0, 2*len(indented))
		b.Run(f.Name+"/indent", func(b *testing.B) {
			b.SetBytes(int64(len(items)))
			for b.Loop() {
				dst = AppendIndent(dst[:0], items, 2)
			}
		})
		b.Run(f.Name+"/copy", func(b *testing.B) {
			b.SetBytes(int64(len(items)))
			for b.Loop() {
				dst = append(dst[:0], indented...)
			}
		})
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1<<17)
	for _, f := range jsontest.Realistic() {
		for name, run := range map[string]func() error{
			"Valid":        func() error { return Valid(f.JSON, 0) },
			"AppendIndent": func() error { buf = AppendIndent(buf[:0], f.JSON, 0); return nil },
		} {
			allocs := testing.AllocsPerRun(100, func() {
				if err := run(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%s of the %s: %v allocations per run", name, f.Name, allocs)
			}
		}
	}
}
