package see

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/see"
	"sluice/proxy/why"
	"sluice/test/harness"
)

// whyWorld is a gateway whose admin listener authorizes readers, and a client of it for each user.
type whyWorld struct {
	*harness.Sluice
	admin map[string]*harness.RawClient
}

func startWhy(t *testing.T) *whyWorld {
	t.Helper()
	c := harness.Start(t)
	s := c.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Config: "apiVersion: sluice/v1alpha1\nkind: Configuration\nadmin: {access: authorized}\n"})
	w := &whyWorld{s, map[string]*harness.RawClient{}}
	for _, user := range []string{"admin", "reader", "nobody"} {
		cfg := s.RESTConfig(user)
		cfg.Host = s.Admin
		raw, err := harness.NewRawClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(raw.Close)
		w.admin[user] = raw
	}
	client := c.Client("admin")
	roles := client.RbacV1()
	if _, err := roles.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "see"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/why", "/see/*"}, Verbs: []string{"get", "post"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "see"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "see"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/nodes"} {
		harness.Eventually(t, path+" is served", func() error {
			if reason := w.happens(t, "admin", harness.Request{Path: path + "?resourceVersion=0"}); reason != "cache; any-version" {
				return errors.New(reason)
			}
			return nil
		})
	}
	harness.Eventually(t, "nobody may ask", func() error {
		if resp, err := w.admin["nobody"].Get(t.Context(), "/see/v1alpha1/why", "*/*"); err != nil || resp.Status != http.StatusOK {
			return fmt.Errorf("%+v, %v", resp, err)
		}
		return nil
	})
	return w
}

// happens makes a request, and returns what the access log says of it.
func (w *whyWorld) happens(t *testing.T, user string, q harness.Request) string {
	t.Helper()
	resp, err := w.Raw(user).Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Sluice-Source")
}

// ask asks about a request.
func (w *whyWorld) ask(t *testing.T, user string, q why.Question) (e see.WhyExplanation, status int) {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.admin[user].Do(t.Context(), harness.Request{
		Method: http.MethodPost, Path: "/see/v1alpha1/why", Body: text, Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != http.StatusOK {
		return e, resp.Status
	}
	if err := json.Unmarshal(resp.Body, &e); err != nil {
		t.Fatal(err)
	}
	return e, resp.Status
}

// sources are the verdicts by the source of an outcome.
var sources = map[string]why.Verdict{"cache": why.Served, "upstream": why.Passed, "gateway": why.Refused}

// proofs are the reasons of reads of the most recent state that the cache shows.
var proofs = []string{"up-to-date", "filled-since", "roll-call", "own-watch", "probe-watch"}

const (
	maps  = "/api/v1/configmaps?"
	oneNS = "/api/v1/namespaces/default/configmaps"
	watch = maps + "watch=1&timeoutSeconds=1&"
)

// whyRow is a request, and what the reader must be told of it and what must become of it.
type whyRow struct {
	path, reason string // no reason: a proof, or small-read
	user         string // admin if it is empty
	method       string
	header       http.Header
}

func whyRows(version string) []whyRow {
	h := func(name, value string) http.Header { return http.Header{name: {value}} }
	many := http.Header{}
	for i := range 600 {
		many.Set(fmt.Sprint("X-Many-", i), "x")
	}
	return []whyRow{
		{path: maps + "resourceVersion=0", reason: "any-version"},
		{path: maps + "resourceVersion=0&limit=1", reason: "any-version"},
		{path: maps + "resourceVersion=0", header: h("Accept", "application/vnd.kubernetes.protobuf"), reason: "any-version"},
		{path: maps + "resourceVersion=0", header: h("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"), reason: "any-version"},
		{path: oneNS + "?resourceVersion=0", reason: "any-version"},
		{path: oneNS + "?resourceVersion=0&labelSelector=a%3Db", reason: "any-version"},
		{path: oneNS + "?resourceVersion=0&fieldSelector=metadata.name%3Dm1", reason: "any-version"},
		{path: oneNS + "/m1?resourceVersion=0", reason: "any-version"},
		{path: oneNS + "/missing?resourceVersion=0", reason: "any-version"},
		{path: maps + "resourceVersion=" + version, reason: "any-version"},
		{path: maps + "resourceVersionMatch=Exact&resourceVersion=" + version, reason: "past-version"},
		{path: "/api/v1/nodes?resourceVersion=0", reason: "any-version"},
		{path: maps},
		{path: oneNS},
		{path: maps + "limit=2"},
		{path: watch + "resourceVersion=0", reason: "any-version"},
		{path: watch + "resourceVersion=" + version, reason: "past-version"},
		{path: watch + "resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", reason: "any-version"},
		{path: watch + "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", reason: "up-to-date"},
		{path: "/api/v1/watch/configmaps?timeoutSeconds=1&resourceVersion=0", reason: "any-version"},
		{path: oneNS + "/m1", reason: "get-latest"},
		{path: oneNS, method: http.MethodPost, reason: "not-a-read"},
		{path: oneNS + "/m1", method: http.MethodDelete, reason: "not-a-read"},
		{path: oneNS, method: http.MethodHead, reason: "not-a-read"},
		{path: "/api/v1/namespaces/default/pods/p/log", reason: "not-a-read"},
		{path: "/version", reason: "not-a-read"},
		{path: "/apis", reason: "not-a-read"},
		{path: oneNS + "/", reason: "not-a-read"},
		{path: maps + "resourceVersion=0", header: h("Origin", "https://example.com"), reason: "origin"},
		{path: maps + "limit=x", reason: "options"},
		{path: maps + "resourceVersion=00", reason: "options"},
		{path: maps + "continue=x", reason: "options"},
		{path: maps + "resourceVersionMatch=Exact", reason: "options"},
		{path: maps + "labelSelector=a%20b%20c", reason: "options"},
		{path: maps + "resourceVersion=0&fieldSelector=spec.nothing%3Dx", reason: "options"},
		{path: oneNS + "?fieldSelector=metadata.name%3Dm1&limit=1", reason: "options"},
		{path: watch + "resourceVersionMatch=Exact&resourceVersion=1", reason: "options"},
		{path: maps + "labelSelector=a%3D" + strings.Repeat("b", 9000), reason: "large-selector"},
		{path: "/api/v1/namespaces/default/nodes?resourceVersion=0", reason: "wrong-scope"},
		{path: "/api/v1/configmaps/m1?resourceVersion=0", reason: "wrong-scope"},
		{path: "/api/v1/secrets?resourceVersion=0", reason: "excluded"},
		{path: "/api/v1/events?resourceVersion=0", reason: "excluded"},
		{path: maps + "resourceVersion=0", header: h("Accept", "text/html"), reason: "format"},
		{path: maps + "resourceVersion=0", user: "nobody", reason: "not-allowed"},
		{path: watch + "resourceVersion=0", user: "nobody", reason: "not-allowed"},
		{path: oneNS + "/m1", user: "nobody", reason: "get-latest"},
		{path: maps + "resourceVersion=0", user: "nobody", header: h("Impersonate-User", "admin"), reason: "not-allowed"},
		{path: maps + "resourceVersion=0", header: h("Impersonate-User", "nobody"), reason: "not-allowed"},
		{path: maps + "resourceVersionMatch=Exact&resourceVersion=1", reason: "version-before-history"},
		{path: maps + "labelSelector=a&labelSelector=b", reason: "ambiguous-request"},
		{path: "/api/v1/namespaces/default%2fx/configmaps", reason: "ambiguous-request"},
		{path: maps + "resourceVersion=0", header: h("Connection", "Authorization"), reason: "ambiguous-request"},
		{path: maps + "resourceVersion=0", header: many, reason: "too-many-headers"},
	}
}

// TestWhyTellsWhatHappens asks about each request, makes it, and compares the answer with its line in the access log.
func TestWhyTellsWhatHappens(t *testing.T) {
	w := startWhy(t)
	list, err := w.Client("admin").CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range whyRows(list.ResourceVersion) {
		if row.user == "" {
			row.user = "admin"
		}
		if row.header.Get("Accept") == "" {
			row.header = row.header.Clone()
			if row.header == nil {
				row.header = http.Header{}
			}
			row.header.Set("Accept", "application/json")
		}
		name := fmt.Sprintf("%s %s %.120s", row.user, row.method, row.path)
		before, status := w.ask(t, row.user, why.Question{Method: row.method, URL: row.path, Header: row.header})
		if status != http.StatusOK {
			t.Errorf("%s: status %d", name, status)
			continue
		}
		after := w.happens(t, row.user, harness.Request{Method: row.method, Path: row.path, Header: row.header, HTTP1: row.header.Get("Connection") != ""})
		source, reason, _ := strings.Cut(after, "; ")
		switch told := before.Reason; {
		case row.reason == "" && (slices.Contains(proofs, reason) && told == "" || reason == "small-read" && (told == reason || before.Verdict == why.Unknown)):
		case row.reason == "" || told != row.reason || reason != row.reason || before.Verdict != sources[source]:
			t.Errorf("%s: told %s %q, then %q, want %q\n%+v", name, before.Verdict, told, after, row.reason, before.Rules)
		case before.Doc != why.Troubleshooting+"#"+reason || before.Do == "":
			t.Errorf("%s: advice %q, see %q", name, before.Do, before.Doc)
		}
	}
	for path, doubt := range map[string]int{
		"/api/v1/services?resourceVersion=0":                          9,  // nobody has read it
		maps + "resourceVersion=999999999999&labelSelector=a":         11, // the apiserver knows
		maps + "resourceVersionMatch=Exact&resourceVersion=999999999": 11,
	} {
		e, _ := w.ask(t, "admin", why.Question{URL: path})
		if e.Explanation == nil || e.Verdict != why.Unknown && e.Reason != "small-read" || e.Verdict == why.Unknown && e.Rules[doubt-1].Answer != why.Unsure {
			t.Errorf("%s: %+v", path, e.Explanation)
		}
	}
	if resp, err := w.admin["admin"].Get(t.Context(), "/readyz?verbose", "*/*"); err != nil || bytes.Contains(resp.Body, []byte("services.v1")) {
		t.Errorf("a question has started a store: %v", err)
	}
}

// TestWhyShowsToEachReaderWhatItMaySee: names and queries only with the right to make the read; credentials never.
func TestWhyShowsToEachReaderWhatItMaySee(t *testing.T) {
	w := startWhy(t)
	for _, path := range []string{
		oneNS + "/" + canary + "?resourceVersion=0", maps + "resourceVersion=0&labelSelector=" + canary + "&token=" + canary + "2",
		"/" + canary, "/apis/" + canary + "/v1/x", oneNS + "/m1/status?" + canary, maps + "limit=" + canary,
	} {
		w.happens(t, "admin", harness.Request{Path: path, Header: http.Header{"X-Canary": {canary}}})
		w.happens(t, "admin", harness.Request{Path: path, Header: http.Header{"Authorization": {"Bearer " + canary}}})
	}
	get := func(user, path string) string {
		t.Helper()
		resp, err := w.admin[user].Get(t.Context(), path, "*/*")
		if err != nil || resp.Status != http.StatusOK {
			t.Fatalf("%s: %+v, %v", path, resp, err)
		}
		return string(resp.Body)
	}
	shown := 0
	for _, class := range why.Classes {
		var list see.WhyList
		for _, user := range []string{"admin", "nobody"} {
			text := get(user, "/see/v1alpha1/why?show="+class)
			if page := get(user, "/why?show="+class); strings.Contains(text+page, canary) {
				t.Errorf("the %s requests show the canary to %s", class, user)
			}
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Fatal(err)
			}
		}
		for _, seen := range list.Items {
			for _, path := range []string{"/why?last=", "/see/v1alpha1/why?last="} {
				if strings.Contains(get("nobody", path+seen.ID), canary) {
					t.Errorf("%s%s shows the canary to nobody", path, seen.ID)
				}
				text := get("admin", path+seen.ID)
				if strings.Contains(text, canary+"2") || strings.Contains(text, "Bearer") {
					t.Errorf("%s%s shows a credential", path, seen.ID)
				}
				shown += strings.Count(text, canary)
			}
		}
	}
	if shown == 0 {
		t.Error("a reader with rights is shown no request")
	}
	for _, header := range []string{"Authorization", "authorization", "Cookie", "X-Remote-User"} {
		if _, status := w.ask(t, "admin", why.Question{URL: maps, Header: http.Header{header: {canary}}}); status != http.StatusBadRequest {
			t.Errorf("a question with %s: status %d", header, status)
		}
	}
	if e, _ := w.ask(t, "nobody", why.Question{URL: maps + "resourceVersion=0", User: "admin", Groups: []string{"system:masters"}}); e.Reason != "not-allowed" {
		t.Errorf("nobody asks for admin: %+v", e.Explanation)
	}
	if e, _ := w.ask(t, "admin", why.Question{URL: maps + "resourceVersion=0", User: "x", Groups: []string{"system:masters"}}); e.Reason != "any-version" {
		t.Errorf("admin asks for another one: %+v", e.Explanation)
	}
	resp, err := w.admin["admin"].Do(t.Context(), harness.Request{
		Method: http.MethodPost, Path: "/why", Body: []byte("url=/api/v1/pods"),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"cross-site"}},
	})
	if err != nil || resp.Status != http.StatusForbidden {
		t.Errorf("a form of another site: %+v, %v", resp, err)
	}
}

// TestWhyAnswersInTheBrowserAndTheTerminal asks on a loopback listener, where readers have no names, with and without
// JavaScript, and by the command.
func TestWhyAnswersInTheBrowserAndTheTerminal(t *testing.T) {
	s := start(t)
	binary, err := harness.Binary("sluice")
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]struct {
		code int
		text string
	}{
		"/api/v1/configmaps?resourceVersion=0":  {0, "SERVED any-version"},
		"/api/v1/configmaps?limit=x -o wide":    {1, "options that Sluice serves"},
		"/api/v1/services?resourceVersion=0":    {2, "UNKNOWN not-in-sync"},
		"/api/v1/configmaps -H Authorization:x": {2, ""},
		"/api/v1/configmaps --as-user=x":        {2, ""},
		"--last 3 --show served":                {0, "any-version"},
		"https://x:1/version -o json":           {1, `"reason": "not-a-read"`},
	} {
		var out bytes.Buffer
		c := exec.CommandContext(t.Context(), binary, append([]string{"why", "--address=" + s.Admin}, strings.Fields(arguments)...)...)
		c.Stdout = &out
		_ = c.Run() // its exit code tells
		if code := c.ProcessState.ExitCode(); code != want.code || !strings.Contains(out.String(), want.text) || strings.Contains(out.String(), canary) {
			t.Errorf("why %s: exit code %d\n%s", arguments, code, out.String())
		}
	}
	b := openBrowser(t)
	for _, row := range []struct {
		width   int
		scheme  string
		scripts bool
	}{{1920, "light", true}, {360, "dark", false}, {768, "light", false}} {
		name := fmt.Sprintf("why-%d-%s", row.width, row.scheme)
		b.screen(t, row.width, row.scheme)
		b.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": !row.scripts}, nil)
		b.open(t, s.Admin+"/why?show=served")
		b.evaluate(t, `document.querySelector("[name=url]").focus(); "done"`)
		b.call(t, "Input.insertText", map[string]any{"text": "/api/v1/configmaps?limit=x"}, nil)
		b.loading(t, func() { b.key(t, "Enter", 13, "\r") })
		if reason := b.evaluate(t, `document.getElementById("reason").textContent`); reason != "options" {
			t.Errorf("%s: the reason is %q", name, reason)
		}
		if over := b.evaluate(t, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over != "0" {
			t.Errorf("%s is wider than the screen by %s pixels", name, over)
		}
		if low := b.evaluate(t, contrast); low != "" {
			t.Errorf("%s has texts of little contrast: %s", name, low)
		}
		if no := b.evaluate(t, `document.querySelector("[data-answer=no] th").textContent`); no != "6 options that Sluice serves" {
			t.Errorf("%s: the rule that decides is %q", name, no)
		}
		b.keep(t, name)
	}
	for _, report := range b.reports {
		t.Errorf("the console reports %s", report)
	}
}

// key presses a key.
func (b *browser) key(t *testing.T, name string, code int, text string) {
	t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call(t, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "text": text, "windowsVirtualKeyCode": code}, nil)
	}
}
