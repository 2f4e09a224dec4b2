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

// testCBORWrites writes through Sluice in CBOR, whether the apiserver takes it
// or not.
func testCBORWrites(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice) {
	namespace := c.Namespace(t)
	sent := &contentTypes{}
	cfg := gateway.RESTConfig("admin")
	cfg.ContentType = inCBOR
	cfg.Wrap(sent.record)
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
	there, err := c.Client("admin").CoreV1().ConfigMaps(namespace).Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, updated); diff != "" {
		t.Errorf("update (-apiserver +answer):\n%s", diff)
	}
	if err := maps.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "c", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get what is deleted: %v", err)
	}
	want := []string{"application/apply-patch+cbor", inCBOR, inCBOR, inCBOR, ""}
	if !slices.Equal(sent.of, want) {
		t.Errorf("sent %q, want %q", sent.of, want)
	}
}

// contentTypes are those of the requests that a client sent.
type contentTypes struct{ of []string }

func (c *contentTypes) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.of = append(c.of, r.Header.Get("Content-Type"))
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// testCBORPasses reads in CBOR what is not cached, with a client that takes
// nothing else. (client-go's own words for it, "application/cbor,*/*", leave the
// apiserver the choice.)
func testCBORPasses(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice) {
	namespace := c.Namespace(t)
	direct := c.Client("admin").CoreV1().Secrets(namespace)
	cfg, answers := record(gateway.RESTConfig("admin"))
	cfg.ContentType, cfg.AcceptContentTypes = inCBOR, inCBOR
	passed := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": {0, 1, 0xff}}}
	want, err := direct.Create(t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := passed.Get(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := passed.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := passed.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
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
	answers.allFrom(t, "upstream", inCBOR, inCBORSeq)
}
