package clients

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
	"sluice/test/harness"
)

// watcher reads a watch of ConfigMaps line by line.
type watcher struct {
	in     *bufio.Reader
	cancel context.CancelFunc
}

func openWatch(t *testing.T, namespace string) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	resp, err := sluice.Raw("admin").Open(ctx, harness.Request{
		Path:  "/api/v1/namespaces/" + namespace + "/configmaps?watch=1&resourceVersion=0",
		HTTP1: true, // a separate connection
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Sluice-Source"), "cache") {
		t.Fatalf("watch: %s, from %q", resp.Status, resp.Header.Get("Sluice-Source"))
	}
	return &watcher{bufio.NewReader(resp.Body), cancel}
}

// next returns the value of the key "n" in the next event's data.
func (w *watcher) next(t *testing.T) string {
	t.Helper()
	line, err := w.in.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		var more []byte
		line = append([]byte(nil), line...)
		more, err = w.in.ReadSlice('\n')
		line = append(line, more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	n, _ := json.Value(line).Get("object", "data", "n").Text()
	return n
}

// A client that stops reading a watch does not delay others, and misses no event when it reads again.
func TestSlowWatchDelaysNoOther(t *testing.T) {
	namespace := apiserver.Namespace(t)
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	maps := apiserver.Client("admin").CoreV1().ConfigMaps(namespace)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Data: map[string]string{"n": "0"}}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the object is cached", func() error {
		a, err := sluice.Raw("admin").Get(t.Context(), "/api/v1/namespaces/"+namespace+"/configmaps?resourceVersion=0", "application/json")
		if err == nil && !strings.Contains(string(a.Body), `"name":"big"`) {
			err = fmt.Errorf("%s", a.Body)
		}
		return err
	})
	slow, fast := openWatch(t, namespace), openWatch(t, namespace)
	if first := fast.next(t); first != "0" {
		t.Fatalf("the first event has n=%q", first)
	}
	// 12 MB, much more than the buffers between Sluice and the client hold.
	const updates = 60
	padding := strings.Repeat("x", 200_000)
	for n := 1; n <= updates; n++ {
		object.Data = map[string]string{"n": fmt.Sprint(n), "padding": padding}
		if _, err := maps.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := fast.next(t); got != fmt.Sprint(n) {
			t.Fatalf("update %d: event with n=%q", n, got)
		}
	}
	for n := 0; n <= updates; n++ {
		if got := slow.next(t); got != fmt.Sprint(n) {
			t.Fatalf("the slow watch delivers n=%q, want %d", got, n)
		}
	}
}
