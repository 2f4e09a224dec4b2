package codec_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"sluice/codec"
	"sluice/codec/splice"
	"sluice/test/harness"
)

// A list has benchPods pods in segments of segmentPods, as in a store.
const (
	benchPods   = 1024
	segmentPods = 32
)

// segments returns the encoded items of each segment.
func segments(b *testing.B, w *codec.Writer, pods []*corev1.Pod) (runs [][]byte) {
	for i, p := range pods {
		raw, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		if i%segmentPods == 0 {
			runs = append(runs, nil)
		} else {
			runs[len(runs)-1] = append(runs[len(runs)-1], w.Separator()...)
		}
		if runs[len(runs)-1], err = w.AppendItem(runs[len(runs)-1], raw); err != nil {
			b.Fatal(err)
		}
	}
	return runs
}

func podWriter(b *testing.B, f codec.Format) *codec.Writer {
	w, err := codec.NewWriter(&codec.Resource{Version: "v1", Resource: "pods", Kind: "Pod", ListKind: "PodList", Source: codec.Protobuf}, f)
	if err != nil {
		b.Skip(err)
	}
	return w
}

// BenchmarkSegment compresses one segment of real pods. ratio is compressed to plain length.
func BenchmarkSegment(b *testing.B) {
	pods := harness.Pods(benchPods, "default", 1)
	for _, f := range []codec.Format{{}, {Encoding: codec.Protobuf}} {
		runs := segments(b, podWriter(b, f), pods)
		for _, c := range []splice.Coding{splice.Gzip, splice.Zstd} {
			b.Run(fmt.Sprintf("%v/%v", f.Encoding, c), func(b *testing.B) {
				compress(b, runs, func(dst, plain []byte) []byte { return c.Compress(dst, plain).Data })
			})
		}
	}
}

func compress(b *testing.B, runs [][]byte, f func(dst, plain []byte) []byte) {
	var plain, packed int
	for _, r := range runs {
		plain += len(r)
		packed += len(f(nil, r))
	}
	b.SetBytes(int64(plain / len(runs)))
	b.ReportAllocs()
	var dst []byte
	for i := 0; b.Loop(); i++ {
		dst = f(dst[:0], runs[i%len(runs)])
	}
	b.ReportMetric(float64(packed)/float64(plain), "ratio")
}

// BenchmarkList writes a whole list of unchanged pods from compressed blocks, and the same list from decoded
// pods as the apiserver does.
func BenchmarkList(b *testing.B) {
	pods := harness.Pods(benchPods, "default", 1)
	meta := metav1.ListMeta{ResourceVersion: "12345"}
	for _, f := range []codec.Format{{}, {Encoding: codec.Protobuf}} {
		w := podWriter(b, f)
		runs := segments(b, w, pods)
		size := 0
		blocks := make([]splice.Block, len(runs))
		for i, r := range runs {
			size += len(r)
			blocks[i] = splice.Gzip.Compress(nil, r)
		}
		const coding = splice.Gzip
		separator := coding.Store(nil, []byte(w.Separator()))
		b.Run(f.Encoding.String()+"/spliced gzip", func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				stream := splice.NewStream(coding)
				out = stream.Begin(out[:0])
				add := func(block *splice.Block) {
					stream.Add(block)
					out = append(out, block.Data...)
				}
				head := coding.Store(nil, w.AppendListHead(nil, meta, benchPods, size))
				add(&head)
				for i := range blocks {
					if i > 0 {
						add(&separator)
					}
					add(&blocks[i])
				}
				tail := coding.Store(nil, w.AppendListTail(nil, meta, benchPods))
				add(&tail)
				out = stream.End(out)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
		b.Run(f.Encoding.String()+"/apimachinery gzip", func(b *testing.B) {
			list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
			for _, p := range pods {
				list.Items = append(list.Items, *p)
			}
			var encoder runtime.Encoder = protobuf.NewSerializerWithOptions(nil, nil, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})
			if f.Encoding == codec.JSON {
				encoder = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil,
					jsonserializer.SerializerOptions{StreamingCollectionsEncoding: true})
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				z, _ := gzip.NewWriterLevel(&out, 1)
				if err := encoder.Encode(list, z); err != nil {
					b.Fatal(err)
				}
				_ = z.Close()
			}
			b.ReportMetric(float64(out.Len()), "bytes")
		})
	}
}
