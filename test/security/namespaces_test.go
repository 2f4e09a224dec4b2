package security

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// k/k#28966: a watch cache compared prefixes without the separator after the namespace, so that
// whoever could read one namespace saw the objects of those whose names begin with its name.
func TestWatchOfANamespaceShowsNoOther(t *testing.T) {
	ns := plane.Namespace(t)
	longer := ns + "x"
	admin := plane.Client("admin").CoreV1()
	if _, err := admin.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: longer}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(name string) {
		for _, in := range []string{longer, ns} { // the event of ns is the last
			if _, err := admin.ConfigMaps(in).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-in-" + in}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	create("before")
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	path := "/api/v1/namespaces/" + ns + "/configmaps"
	list := do(t, "admin", harness.Request{Path: path})
	watch, err := sluice.Raw("admin").Open(t.Context(), harness.Request{Path: path + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	if source := watch.Header.Get("Sluice-Source"); watch.StatusCode != http.StatusOK || !strings.HasPrefix(source, "cache") {
		t.Fatalf("watch: %s from %q", watch.Status, source)
	}
	create("after")
	var seen bytes.Buffer
	for piece := make([]byte, 4096); !strings.Contains(seen.String(), "after-in-"+ns+`"`); {
		n, err := watch.Body.Read(piece)
		if seen.Write(piece[:n]); err != nil {
			t.Fatalf("%v after %s", err, seen.String())
		}
	}
	for what, text := range map[string]string{"list": string(list.Body), "watch": seen.String()} {
		if !strings.Contains(text, "before-in-"+ns+`"`) || strings.Contains(text, longer) {
			t.Errorf("the %s of %s shows %s", what, ns, text)
		}
	}
}
