package see

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/test/harness"
)

// canary is in names, values, queries and headers that Sluice sees, and must not be shown.
const canary = "canary5417"

const inDefault = "/api/v1/namespaces/default/"

// start returns a gateway that has served and passed reads.
func start(t *testing.T, apiserver *harness.ControlPlane, flags ...string) *harness.Sluice {
	t.Helper()
	s := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: flags})
	s.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	s.WaitForCacheSync(t, "/apis/apps/v1/deployments", "deployments.v1.apps")
	admin := s.Raw("admin")
	for i := range 20 {
		admin.Must(t, http.MethodPost, inDefault+"configmaps",
			fmt.Sprintf(`{"metadata":{"name":"%[1]s-%[2]d","annotations":{%[1]q:%[1]q}},"data":{%[1]q:%[1]q}}`, canary, i))
		for _, version := range []string{"resourceVersion=0&", ""} {
			admin.Must(t, http.MethodGet, inDefault+"configmaps?"+version+"labelSelector="+canary, "")
		}
	}
	admin.Must(t, http.MethodPost, inDefault+"secrets", fmt.Sprintf(`{"metadata":{"name":%[1]q},"stringData":{%[1]q:%[1]q}}`, canary))
	admin.Must(t, http.MethodGet, inDefault+"secrets/"+canary, "")
	admin.MustOpen(t, harness.Request{Path: inDefault + "configmaps?watch=1&fieldSelector=metadata.name=" + canary})
	s.Raw(harness.Anonymous).MustOpen(t, harness.Request{
		Path:   "/api/v1/namespaces/" + canary + "/configmaps?" + canary,
		Header: http.Header{"Authorization": {"Bearer " + canary}, "User-Agent": {canary}, "X-Canary": {canary}},
	}, http.StatusUnauthorized)
	harness.Eventually(t, "a page with the resources", func() error {
		text, err := s.AdminGet("/")
		if err == nil && !(strings.Contains(text, "/r/configmaps.v1") && strings.Contains(text, "answers")) {
			err = errors.New("they are not there yet")
		}
		return err
	})
	return s
}

var pages = []string{"/", "/limits", "/r/configmaps.v1", "/clients", "/watches", "/why"}

// TestPageShowsNothingOfCallersAndObjects looks for what Sluice has seen, on every page.
func TestPageShowsNothingOfCallersAndObjects(t *testing.T) {
	s := start(t, harness.Start(t))
	for _, path := range append(pages, "/see/v1alpha1/status", "/see/v1alpha1/clients", "/see/v1alpha1/watches", "/metrics",
		"/why?show=passed", "/why?show=served", "/why?show=refused", "/why?show=failed", "/see/v1alpha1/why", "/see/v1alpha1/why?show=refused") {
		text, err := s.AdminGet(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, canary) {
			t.Errorf("%s shows the canary", path)
		}
		if !strings.Contains(text, "luice") {
			t.Errorf("%s: %.200s", path, text)
		}
	}
}

// TestPageFitsTheScreen looks at each page as a browser shows it, wide and narrow, light and dark.
func TestPageFitsTheScreen(t *testing.T) {
	b := openBrowser(t)
	s := start(t, harness.Start(t))
	for _, width := range []int{1920, 768, 360} {
		for _, scheme := range []string{"light", "dark"} {
			for _, path := range pages {
				name := fmt.Sprintf("page%s-%d-%s", path, width, scheme)
				b.screen(t, width, scheme)
				b.open(t, s.Admin+path)
				b.evaluate(t, live)
				if parted := b.evaluate(t, broken); parted != "" {
					t.Errorf("%s breaks inside %s", name, parted)
				}
				if roles := b.nameless(t); len(roles) > 0 {
					t.Errorf("%s has nothing for a screen reader to say of %q", name, roles)
				}
				b.checkLooks(t, name)
			}
		}
	}
	checkClient(t, b, s)
	b.open(t, s.Admin+"/limits")
	b.evaluate(t, newer)
}

// checkClient filters the clients with the form, without a script, and opens the page of one.
func checkClient(t *testing.T, b *browser, s *harness.Sluice) {
	t.Helper()
	b.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	defer b.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	b.open(t, s.Admin+"/clients?by=lists&user=admin&resource=configmaps")
	rows := b.evaluate(t, "String(document.querySelectorAll('tbody tr').length)")
	sorted := b.evaluate(t, "document.querySelector('th[aria-sort=descending]').textContent")
	if rows == "0" || !strings.HasPrefix(sorted, "Lists/s") {
		t.Errorf("%s rows, sorted by %q", rows, sorted)
	}
	b.open(t, s.Admin+b.evaluate(t, "document.querySelector('tbody a').getAttribute('href')"))
	if title := b.evaluate(t, "document.querySelector('h1').textContent"); !strings.HasPrefix(title, "admin · ") {
		t.Errorf("the page is of %q", title)
	}
	b.checkLooks(t, "client")
}

// checkLooks checks that a page fits the screen and can be read.
func (b *browser) checkLooks(t *testing.T, name string) {
	t.Helper()
	if over := b.evaluate(t, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over != "0" {
		t.Errorf("%s is wider than the screen by %s pixels", name, over)
	}
	if low := b.evaluate(t, contrast); low != "" {
		t.Errorf("%s has texts of little contrast: %s", name, low)
	}
}

// nameless returns the roles of what a screen reader cannot name.
func (b *browser) nameless(t *testing.T) (roles []string) {
	t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	b.call(t, "Accessibility.getFullAXTree", nil, &tree)
	named := []string{"link", "button", "textbox", "Meter", "meter", "image", "columnheader", "rowheader", "navigation"}
	for _, n := range tree.Nodes {
		if role := fmt.Sprint(n.Role.Value); !n.Ignored && slices.Contains(named, role) && (n.Name.Value == nil || n.Name.Value == "") {
			roles = append(roles, role)
		}
	}
	return roles
}

// newer waits until meters and texts that were changed show the values of Sluice again, and the rows that were removed are back.
const newer = `new Promise(done => {
  const rows = document.querySelectorAll("tbody tr").length;
  for (const m of document.querySelectorAll("meter")) m.setAttribute("value", "0");
  document.querySelector("h1").textContent = "old";
  document.querySelector("tbody tr:last-child").remove();
  const look = () => [...document.querySelectorAll("meter")].some(m => m.value > 0) && document.querySelector("h1").textContent === "Limits" &&
    document.querySelectorAll("tbody tr").length === rows ? done() : setTimeout(look, 50);
  look();
})`

// live waits until the script shows how old the values are.
const live = `new Promise(done => {
  const look = () => document.getElementById("age").textContent.startsWith("live") ? done() : setTimeout(look, 50);
  look();
})`

// broken yields the addresses and numbers that a line break parts.
const broken = `[...document.querySelectorAll("td, dt, dd, .address")].filter(e => {
  if (e.className === "text" && !/\d+\.\d+\.\d+\.\d+/.test(e.textContent)) return false;
  const range = document.createRange();
  range.selectNodeContents(e);
  const tops = [...range.getClientRects()].map(r => r.top);
  return /[0-9]/.test(e.textContent) && e.nodeName !== "DT" && !e.querySelector("meter") && Math.max(...tops) - Math.min(...tops) > 10;
}).map(e => e.textContent).join("; ")`

// contrast yields the texts whose contrast to the background is below 4.5 (WCAG 2).
const contrast = `(() => {
  const light = (c) => {
    const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c !== "rgba(0, 0, 0, 0)") return c;
    }
    return "rgb(255, 255, 255)";
  };
  const low = new Set();
  for (const e of document.querySelectorAll("main *, header *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) low.add(e.textContent.trim().slice(0, 40));
  }
  return [...low].join("; ");
})()`
