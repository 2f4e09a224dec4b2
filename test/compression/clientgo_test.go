package compression

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestClientGoReadsACompressedStreamingList up to an event that follows the initial ones.
func TestClientGoReadsACompressedStreamingList(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var decompressed atomic.Bool
	config := sluice.RESTConfig("admin")
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				decompressed.Store(resp.Uncompressed)
			}
			return resp, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all := true
	watch, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &all, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if !decompressed.Load() {
		t.Error("the response is not compressed")
	}
	pods, touched := 0, ""
	for e := range watch.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("received %s %v", e.Type, e.Object)
		}
		switch {
		case touched != "" && pod.ResourceVersion == touched:
			return
		case pod.Annotations[metav1.InitialEventsAnnotationKey] == "true":
			if pods != podCount {
				t.Errorf("%d initial events, want %d", pods, podCount)
			}
			touched = touch(t, 3)
		case touched == "":
			pods++
		}
	}
	t.Errorf("the watch has ended after %d pods, before the update to %q", pods, touched)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
