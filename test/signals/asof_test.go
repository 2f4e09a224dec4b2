package signals

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// asOfHeader matches the whole header.
var asOfHeader = regexp.MustCompile(`^(\d+)(?:; age=(\d+\.\d{3}))?; proof=([a-z-]+)$`)

// asOf is the header of a response.
type asOf struct {
	version, proof string
	age            time.Duration // negative if there is none
}

// known is a response, and what it says of its state.
type known struct {
	asOf
	took   time.Duration
	body   struct{ Metadata metav1.ListMeta }
	header http.Header
}

// read sends a request that asks for the header, and reads a list or object or the beginning of a watch. It tries again
// what passes, as a busy machine may not prove a state in time, and fails unless the header is well-formed.
func read(t *testing.T, s *harness.Sluice, path string) (k known) {
	t.Helper()
	harness.Eventually(t, path, func() (err error) {
		began := time.Now()
		if k, err = tryRead(t, s, path, "?1"); err == nil && k.header.Get("Sluice-As-Of") == "" {
			err = errors.New("no header")
		}
		k.took = time.Since(began)
		return err
	})
	text := k.header.Get("Sluice-As-Of")
	m := asOfHeader.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s: Sluice-As-Of is %q", path, text)
	}
	k.asOf = asOf{m[1], m[3], -1}
	if m[2] != "" {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		k.age = time.Duration(seconds * float64(time.Second))
	}
	return k
}

func tryRead(t *testing.T, s *harness.Sluice, path, value string) (k known, err error) {
	resp, err := s.Raw("admin-cert").Open(t.Context(), harness.Request{Path: path, Header: http.Header{"Sluice-As-Of": {value}}})
	if err != nil {
		return k, err
	}
	defer resp.Body.Close()
	k.header = resp.Header
	if strings.Contains(path, "watch=1") {
		return k, nil
	}
	return k, json.NewDecoder(resp.Body).Decode(&k.body)
}

func TestAsOfTellsVersionAgeAndProof(t *testing.T) {
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: []string{"--debug-headers=false"}})
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	maps := s.Client("admin").CoreV1().ConfigMaps(apiserver.Namespace(t))
	for _, name := range []string{"a", "b"} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const list = "/api/v1/configmaps"

	newest := read(t, s, list+"?watch=1")
	if newest.age < 0 || newest.age > newest.took {
		t.Errorf("a proven state, in a watch that took %v: %+v", newest.took, newest.asOf)
	}
	for _, version := range []string{"0", newest.version} {
		k := read(t, s, list+"?resourceVersion="+version)
		if k.proof != "any-version" || k.age < 0 || k.version != k.body.Metadata.ResourceVersion {
			t.Errorf("a list from %s: %+v, but %+v", version, k.asOf, k.body.Metadata)
		}
	}
	if k := read(t, s, "/api/v1/namespaces/default/configmaps/missing?resourceVersion=0"); k.proof != "any-version" || k.age < 0 {
		t.Errorf("a get of what does not exist: %+v", k.asOf)
	}
	exact := asOf{newest.version, "past-version", -1}
	if k := read(t, s, list+"?resourceVersionMatch=Exact&resourceVersion="+newest.version); k.asOf != exact {
		t.Errorf("a list of one version shows %+v, want %+v", k.asOf, exact)
	}
	if k := read(t, s, list+"?watch=1&resourceVersion="+newest.version); k.asOf != exact {
		t.Errorf("a watch from %s: %+v", newest.version, k.asOf)
	}
	if k := read(t, s, list+"?watch=1&resourceVersion=0"); k.proof != "any-version" || k.age < 0 {
		t.Errorf("a watch with the state first: %+v", k.asOf)
	}
	pending := list + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	if k := read(t, s, pending); k.proof != "pending" || k.age < 0 {
		t.Errorf("a streaming list: %+v", k.asOf)
	}
	for path, value := range map[string]string{
		list + "?resourceVersion=0": "", list + "?resourceVersion=0&pretty=1": "?0", "/api/v1/secrets": "?1", "/api/v1/namespaces/default": "?1",
	} {
		if k, err := tryRead(t, s, path, value); err != nil || k.header.Values("Sluice-As-Of") != nil {
			t.Errorf("%s with %q: %v, %v; want no header", path, value, k.header, err)
		}
	}
}

// A reader must not take an old state for a new one, nor one that was just proven for an old one.
func TestAgeGrowsUntilAProof(t *testing.T) {
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice"}) // which has the header always
	const list = "/apis/batch/v1/cronjobs"
	s.WaitForCacheSync(t, list, "cronjobs.v1.batch")
	harness.Eventually(t, "an age of two seconds", func() error { // the next bookmark comes within a minute
		if k := read(t, s, list+"?resourceVersion=0"); k.age < 2*time.Second {
			return fmt.Errorf("the age is %v", k.age)
		}
		return nil
	})
	began := time.Now()
	read(t, s, list+"?watch=1") // which needs a proof, and does not pass instead
	if k := read(t, s, list+"?resourceVersion=0"); k.age > time.Since(began) {
		t.Errorf("%v old, %v after a proof began", k.age, time.Since(began))
	}
}
