package clients

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"sluice/test/harness"
)

// testCBORWrites sends CBOR request bodies through Sluice.
func testCBORWrites(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice) {
	namespace := c.Namespace(t)
	types := &contentTypes{}
	cfg := gateway.RESTConfig("admin")
	cfg.ContentType = inCBOR
	cfg.Wrap(types.record)
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps(namespace)

	apply := corev1apply.ConfigMap("c", namespace).WithData(map[string]string{"a": "1"})
	made, err := maps.Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "me"})
	if err != nil {
		t.Fatal(err)
	}
	made.BinaryData = map[string][]byte{"b": {0, 1, 0xff}}
	updated, err := maps.Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made = updated.DeepCopy()
	made.Name, made.ResourceVersion, made.UID = "d", "", ""
	if _, err := maps.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stored, err := c.Client("admin").CoreV1().ConfigMaps(namespace).Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, updated); diff != "" {
		t.Errorf("update (-apiserver +response):\n%s", diff)
	}
	if err := maps.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "c", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v", err)
	}
	want := []string{"application/apply-patch+cbor", inCBOR, inCBOR, inCBOR, ""}
	if !slices.Equal(types.sent, want) {
		t.Errorf("sent %q, want %q", types.sent, want)
	}
}

// contentTypes records the Content-Type of each request.
type contentTypes struct{ sent []string }

func (c *contentTypes) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.sent = append(c.sent, r.Header.Get("Content-Type"))
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// testCBORForwarded reads an uncached resource with a client that accepts only CBOR. (client-go itself
// sends "application/cbor,*/*", which lets the apiserver choose.)
func testCBORForwarded(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice) {
	namespace := c.Namespace(t)
	direct := c.Client("admin").CoreV1().Secrets(namespace)
	cfg, responses := record(gateway.RESTConfig("admin"))
	cfg.ContentType, cfg.AcceptContentTypes = inCBOR, inCBOR
	forwarded := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": {0, 1, 0xff}}}
	want, err := direct.Create(t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := forwarded.Get(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := forwarded.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := forwarded.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("get (-apiserver +Sluice):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.Secret{*want}, list.Items); diff != "" {
		t.Errorf("list (-apiserver +Sluice):\n%s", diff)
	}
	if diff := cmp.Diff(watch.Event{Type: watch.Added, Object: want}, next(t, stream)); diff != "" {
		t.Errorf("watch (-apiserver +Sluice):\n%s", diff)
	}
	responses.check(t, "upstream", inCBOR, inCBORSeq)
}
