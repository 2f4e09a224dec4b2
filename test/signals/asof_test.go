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

// read sends a request that asks for the header, and returns it and the version of a list. It tries again
// if the request passes, as a busy machine may not prove a state in time, and fails unless the header is well-formed.
func read(t *testing.T, s *harness.Sluice, path string) (state asOf, listed string) {
	t.Helper()
	var header []string
	harness.Eventually(t, path, func() (err error) {
		if header, listed, err = tryRead(t, s, path, "?1"); err == nil && header == nil {
			err = errors.New("no header")
		}
		return err
	})
	text := strings.Join(header, ", ")
	m := asOfHeader.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s: Sluice-As-Of is %q", path, text)
	}
	state = asOf{m[1], m[3], -1}
	if m[2] != "" {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		state.age = time.Duration(seconds * float64(time.Second))
	}
	return state, listed
}

func tryRead(t *testing.T, s *harness.Sluice, path, value string) (header []string, listed string, err error) {
	resp, err := s.Raw("admin-cert").Open(t.Context(), harness.Request{Path: path, Header: http.Header{"Sluice-As-Of": {value}}})
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	var list metav1.PartialObjectMetadataList
	if !strings.Contains(path, "watch=1") {
		err = json.NewDecoder(resp.Body).Decode(&list)
	}
	return resp.Header.Values("Sluice-As-Of"), list.ResourceVersion, err
}

func TestAsOfTellsVersionAgeAndProof(t *testing.T) {
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: []string{"--debug-headers=false"}})
	apiserver.MustCreate(t, "/api/v1/namespaces/"+apiserver.Namespace(t)+"/configmaps", `{"metadata":{"name":"listed"}}`)
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	const list = "/api/v1/configmaps"
	began := time.Now()
	newest, _ := read(t, s, list+"?watch=1")
	if newest.age < 0 || newest.age > time.Since(began) {
		t.Errorf("a proven state, in a watch that took %v at most: %+v", time.Since(began), newest)
	}
	for path, proof := range map[string]string{
		list + "?resourceVersion=0":                                                                         "any-version",
		list + "?resourceVersion=" + newest.version:                                                         "any-version",
		"/api/v1/namespaces/default/configmaps/missing?resourceVersion=0":                                   "any-version",
		list + "?watch=1&resourceVersion=0":                                                                 "any-version",
		list + "?watch=1&resourceVersion=" + newest.version:                                                 "past-version",
		list + "?resourceVersionMatch=Exact&resourceVersion=" + newest.version:                              "past-version",
		list + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true": "pending",
	} {
		state, listed := read(t, s, path)
		if state.proof != proof {
			t.Errorf("%s: %+v, want proof %s", path, state, proof)
		}
		past := proof == "past-version"
		if (state.age < 0) != past || past && state.version != newest.version {
			t.Errorf("%s: %+v, want an age unless it is the past of %s", path, state, newest.version)
		}
		if isList := strings.HasPrefix(path, list) && !strings.Contains(path, "watch=1"); isList && listed != state.version {
			t.Errorf("%s: %+v in a list at %q", path, state, listed)
		}
	}
	for path, value := range map[string]string{
		list + "?resourceVersion=0": "", list + "?resourceVersion=0&pretty=1": "?0", "/api/v1/secrets": "?1", "/api/v1/namespaces/default": "?1",
	} {
		if header, _, err := tryRead(t, s, path, value); err != nil || header != nil {
			t.Errorf("%s with %q: %q, %v; want no header", path, value, header, err)
		}
	}
}

// A reader must not take an old state for a new one, nor one that was just proven for an old one.
func TestAgeGrowsUntilAProof(t *testing.T) {
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice"}) // which has the header always
	const list = "/apis/batch/v1/cronjobs"
	s.WaitForCacheSync(t, list, "cronjobs.v1.batch")
	harness.Eventually(t, "an age of two seconds", func() error { // the next bookmark comes within a minute
		if state, _ := read(t, s, list+"?resourceVersion=0"); state.age < 2*time.Second {
			return fmt.Errorf("the age is %v", state.age)
		}
		return nil
	})
	began := time.Now()
	read(t, s, list+"?watch=1") // which needs a proof, and does not pass instead
	if state, _ := read(t, s, list+"?resourceVersion=0"); state.age > time.Since(began) {
		t.Errorf("%v old, %v after a proof began", state.age, time.Since(began))
	}
}
