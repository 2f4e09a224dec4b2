package harness

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"

	authnv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiserver is shared by the tests that do not kill it.
var apiserver *ControlPlane

func TestMain(m *testing.M) {
	Main(m, 0, func(m *testing.M) (code int, err error) {
		if apiserver, err = StartMain(); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, apiserver.Stop()) }()
		return m.Run(), nil
	})
}

func TestControlPlaneHasItsVersion(t *testing.T) {
	v, err := apiserver.Client("nobody").Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.GitVersion != "v1.37.2" || v.Major != "1" || v.Minor != "37" {
		t.Errorf("version is %+v", v)
	}
}

func TestUsersHaveTheirRights(t *testing.T) {
	for _, tc := range []struct {
		user string
		may  bool
	}{
		{"admin", true}, {"admin-cert", true}, {"sluice", true},
		{"reader", false}, {"reader-cert", false},
		{"nobody", false}, {"nobody-cert", false}, {Anonymous, false},
	} {
		t.Run("list pods as "+tc.user, func(t *testing.T) {
			_, err := apiserver.Client(tc.user).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
			if tc.may && err != nil || !tc.may && !apierrors.IsForbidden(err) {
				t.Errorf("may: %v, got: %v", tc.may, err)
			}
		})
	}
}

func TestSluiceReviewsTokens(t *testing.T) {
	review := &authnv1.TokenReview{Spec: authnv1.TokenReviewSpec{Token: apiserver.RESTConfig("reader").BearerToken}}
	got, err := apiserver.Client("sluice").AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Status.Authenticated || got.Status.User.Username != "reader" {
		t.Errorf("status is %+v", got.Status)
	}
}

func TestSluiceImpersonates(t *testing.T) {
	cfg := apiserver.RESTConfig("sluice")
	cfg.Impersonate.UserName, cfg.Impersonate.UID, cfg.Impersonate.Groups = "zoe", "7", []string{"system:authenticated"}
	cfg.Impersonate.Extra = map[string][]string{"example.com/scopes": {"a", "b"}}
	got, err := whoami(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got.Username != "zoe" || got.UID != "7" || len(got.Extra["example.com/scopes"]) != 2 {
		t.Errorf("user %+v", got)
	}
}

func TestRestartAfterKillKeepsDataAndCredentials(t *testing.T) {
	c := Start(t)
	token := c.RESTConfig("admin").BearerToken
	url := c.URL
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"a": "b"}}
	before, err := c.Client("admin").CoreV1().ConfigMaps("default").Create(t.Context(), kept, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if _, err := c.Raw("admin").Get(t.Context(), "/version", "*/*"); err == nil {
		t.Error("a killed apiserver responds")
	}
	c.Restart(t)
	after, err := c.Client("admin-cert").CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("before %v, after %v", before.ObjectMeta, after.ObjectMeta)
	}
	if c.RESTConfig("admin").BearerToken != token || c.URL != url {
		t.Error("the restart has changed the token or the address")
	}
}

func TestSampleServerIsAggregatedAlsoAfterKill(t *testing.T) {
	c := Start(t, Options{Sample: true})
	const path = "/apis/wardle.example.com/v1alpha1/fischers"
	made, err := c.Raw("admin").Do(t.Context(), Request{
		Method: http.MethodPost, Path: path, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"apiVersion":"wardle.example.com/v1alpha1","kind":"Fischer","metadata":{"name":"f"}}`),
	})
	if err != nil || made.Status != http.StatusCreated {
		t.Fatalf("%v, %+v", err, made)
	}
	c.Kill()
	c.Restart(t)
	Eventually(t, "the object of before", func() error { // the aggregator may find the server unavailable once more
		got, err := c.Raw("admin").Get(t.Context(), path+"/f", "application/json")
		if err == nil && got.Status != http.StatusOK {
			err = fmt.Errorf("%d: %s", got.Status, got.Body)
		}
		return err
	})
	if got, err := c.Raw("reader").Get(t.Context(), path+"/f", "application/json"); err != nil || got.Status != http.StatusForbidden {
		t.Errorf("reader: %v, %+v", err, got)
	}
}

func TestStopDeletesTheTemporaryDirectory(t *testing.T) {
	c, err := StartMain()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", c.Dir, err)
	}
}

func TestControllersCreateServiceAccounts(t *testing.T) {
	c := Start(t, Options{Controllers: true})
	ns := c.Namespace(t) // waits for the service account
	Eventually(t, "root CA", func() error {
		_, err := c.Client("admin").CoreV1().ConfigMaps(ns).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
}
