package see

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"sluice/test/harness"
)

// task is a question of somebody who sees Sluice for the first time, and the way to its answer. Each step is a link that is
// followed, and what the page then shows.
type task struct {
	question, from string
	sees           []string // at the beginning
	steps          []step
	command        string
	prints         []string
}

type step struct {
	link string
	sees []string
}

// alert is the page of the documents with the runbooks.
const alert = "/see/docs/deploying.html#sluicerefusesrequests"

var tasks = []task{
	{
		"Who lists all pods, and what does it cost?", "/clients?by=lists", []string{"reporter/1.0", "pods.v1"},
		[]step{{"reporter/1.0", []string{"Would cost: CPU of the apiserver", "cores", "Open watches"}}},
		"clients --sort-by lists", []string{"reporter/1.0", "WOULD COST and COST are CPU of the apiserver"},
	},
	{
		"Why does the watch of my controller pass, and what can I do?", "/", []string{"watches that pass"},
		[]step{
			{"Whose reads pass, and why", []string{"controller/2.0", "excluded"}},
			{"controller/2.0", []string{"Open watches", "secrets.v1", "the apiserver", "excluded", "set cache.secrets for secrets"}},
			{"excluded", []string{"set cache.secrets for secrets"}},
		},
		"watches --passed", []string{"controller/2.0", "secrets.v1", "excluded: set cache.secrets for secrets"},
	},
	{
		"How old is an answer from the cache?", "/", []string{"pods.v1"},
		[]step{
			{"pods.v1", []string{"proven up to date", "Sluice-As-Of: ?1", "are at most as old as"}},
			{"How old answers can be", []string{"How old an answer is", "Sluice-As-Of"}},
		},
		"status", []string{"PROVEN", "pods.v1"},
	},
	{
		"The alert SluiceRefusesRequests fires. What is its cause?", alert, []string{"SluiceRefusesRequests", "/clients?by=refused", "who is refused"}, nil,
		"clients --sort-by refused -o wide", []string{"greedy/1.0", "too-much-memory: hold less"},
	},
	{
		"Sluice says that it is overloaded. What is the runbook?", "/", []string{"Overloaded:"},
		[]step{{"Runbook", []string{"SluiceRefusesRequests", "/clients?by=refused", "who is refused"}}},
		"status", []string{"Overloaded:", "docs/deploying.md#sluicerefusesrequests"},
	},
	{
		"Who is refused?", "/limits", []string{"memory of users", "limits.memory", "user:admin"},
		[]step{
			{"Who is refused, and why", []string{"greedy/1.0"}},
			{"greedy/1.0", []string{"too-much-memory", "raise limits.memory"}},
		},
		"status", nil,
	},
}

// TestAStrangerFindsTheAnswers follows the ways with a mouse, and by the keyboard on a narrow screen without JavaScript; and
// asks the commands.
func TestAStrangerFindsTheAnswers(t *testing.T) {
	b := openBrowser(t)
	s := startTasks(t)
	for _, k := range tasks {
		c := exec.CommandContext(t.Context(), harness.Program(t, "sluice"), append(strings.Fields(k.command), "--address="+s.Admin)...)
		out, _ := c.Output() // its exit code says how Sluice is
		for _, want := range k.prints {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s sluice %s prints no %q:\n%s", k.question, k.command, want, out)
			}
		}
	}
	for _, keyboard := range []bool{false, true} {
		b.screen(t, map[bool]int{false: 1920, true: 360}[keyboard], map[bool]string{false: "light", true: "dark"}[keyboard])
		b.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": keyboard}, nil)
		for _, k := range tasks {
			b.open(t, s.Admin+k.from)
			b.sees(t, k.question, k.sees)
			for _, step := range k.steps {
				b.follow(t, step.link, keyboard)
				b.sees(t, k.question+" "+step.link, step.sees)
			}
		}
	}
}

// sees compares the page with texts that it must show.
func (b *browser) sees(t *testing.T, where string, texts []string) {
	t.Helper()
	shown := strings.ReplaceAll(b.evaluate(t, "document.body.innerText"), "\u00a0", " ")
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			t.Errorf("%s: no %q in\n%s", where, text, shown)
		}
	}
}

// follow follows the first link with a text, by Enter or a click.
func (b *browser) follow(t *testing.T, text string, keyboard bool) {
	t.Helper()
	const find = "[...document.querySelectorAll('a[href]')].find(a => a.textContent.trim() === %q && a.tabIndex >= 0)"
	link := fmt.Sprintf(find, text)
	if b.evaluate(t, "String("+link+" !== undefined)") != "true" {
		t.Fatalf("no link %q", text)
	}
	b.loading(t, func() {
		if !keyboard {
			b.evaluate(t, link+".click(); 'done'")
			return
		}
		b.evaluate(t, link+".focus(); 'done'")
		b.key(t, "Enter", 13, "\r")
	})
	if b.evaluate(t, "String(location.hash === '' || document.querySelector(':target') !== null)") != "true" {
		t.Errorf("%s leads to no section", text)
	}
}

// startTasks returns a gateway with a client for each task.
func startTasks(t *testing.T) *harness.Sluice {
	t.Helper()
	c := harness.Start(t)
	s := c.StartSluice(t, harness.SluiceOptions{
		Binary: "sluice", Config: "{apiVersion: sluice/v1alpha1, kind: Configuration, limits: {memory: 134217728}}",
	})
	ns := c.Namespace(t)
	if err := c.CreatePods(t.Context(), harness.Pods(300, ns, 1)); err != nil {
		t.Fatal(err)
	}
	s.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	as := func(agent, path string) harness.Request {
		return harness.Request{Path: path, Header: http.Header{"User-Agent": {agent}}}
	}
	admin := s.Raw("admin")
	for range 40 {
		if a := admin.MustDo(t, as("reporter/1.0", "/api/v1/pods")); a.Status != http.StatusOK {
			t.Fatalf("%d: %.200s", a.Status, a.Body)
		}
	}
	admin.MustOpen(t, as("controller/2.0", "/api/v1/secrets?watch=1"))
	harness.Eventually(t, "watches too many, more than one a second", func() error {
		for range 600 {
			resp := admin.MustOpen(t, as("greedy/1.0", "/api/v1/events?watch=1"), http.StatusOK, http.StatusTooManyRequests)
			if resp.StatusCode == http.StatusOK {
				return errors.New(resp.Status)
			}
		}
		return nil
	})
	harness.Eventually(t, "all that the tasks need", func() error {
		text, err := s.AdminGet("/see/v1alpha1/clients")
		page, failed := s.AdminGet("/")
		text, err = text+page, errors.Join(err, failed)
		for _, want := range []string{"too-much-memory", `"passedBecause": "excluded"`, "/r/pods.v1", "Overloaded:"} {
			if err == nil && !strings.Contains(text, want) {
				err = fmt.Errorf("no %s yet", want)
			}
		}
		return err
	})
	return s
}
