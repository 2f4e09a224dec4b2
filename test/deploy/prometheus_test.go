package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

const (
	// minute is how long a minute of the rules lasts in these tests.
	minute = time.Second
	// longest is what longer durations of rules last.
	longest = 15 * minute
)

// durations are those that a rule waits for or looks back.
var durations = regexp.MustCompile(`\b(\d+)([mh])\b`)

// hurried shortens the durations of a rule.
func hurried(text string) string {
	return durations.ReplaceAllStringFunc(text, func(d string) string {
		n, _ := strconv.Atoi(d[:len(d)-1])
		if strings.HasSuffix(d, "h") {
			n *= 60
		}
		return min(time.Duration(n)*minute, longest).String()
	})
}

// monitor is a Prometheus that scrapes gateways.
type monitor struct{ url string }

// startPrometheus starts a Prometheus with the rules of the chart. The label pod names the gateways.
func startPrometheus(t *testing.T, rules []map[string]any, gateways map[string]*harness.Sluice) *monitor {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian package prometheus)")
	}
	for _, r := range rules {
		r["expr"], r["for"] = hurried(r["expr"].(string)), hurried(r["for"].(string))
	}
	var targets []any
	for pod, g := range gateways {
		address := strings.TrimPrefix(g.Admin, "http://")
		targets = append(targets, map[string]any{"targets": []string{address}, "labels": map[string]string{"pod": pod}})
	}
	dir := t.TempDir()
	for name, content := range map[string]any{
		"rules.yml": map[string]any{"groups": []any{map[string]any{"name": "sluice", "rules": rules}}},
		"prometheus.yml": map[string]any{
			"global":         map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
			"rule_files":     []string{"rules.yml"},
			"scrape_configs": []any{map[string]any{"job_name": "sluice", "static_configs": targets}},
		},
	} {
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(program,
		"--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--query.lookback-delta=5s")
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, address, found := strings.Cut(lines.Text(), `msg="Listening on" address=`); found {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return &monitor{"http://" + address}
		}
	}
	t.Fatal("prometheus does not listen")
	return nil
}

// get decodes the data of an answer of Prometheus.
func (m *monitor) get(path string, data any) error {
	resp, err := http.Get(m.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w %s", resp.Status, err, body)
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(&struct{ Data any }{data})
}

// firing returns the alerts that fire, with their pods.
func (m *monitor) firing() (names []string, err error) {
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	err = m.get("/api/v1/alerts", &data)
	for _, a := range data.Alerts {
		if a.State == "firing" {
			names = append(names, strings.TrimSuffix(a.Labels["alertname"]+" "+a.Labels["pod"], " "))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// awaitFiring waits until alerts fire.
func (m *monitor) awaitFiring(t *testing.T, want ...string) {
	t.Helper()
	harness.Eventually(t, "firing "+strings.Join(want, ", "), func() error {
		got, err := m.firing()
		for _, w := range want {
			if err == nil && !slices.Contains(got, w) {
				err = fmt.Errorf("%s among %v", w, got)
			}
		}
		return err
	})
}

// awaitQuiet waits until no alert fires.
func (m *monitor) awaitQuiet(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "quiet", func() error {
		got, err := m.firing()
		if err == nil && len(got) > 0 {
			err = fmt.Errorf("%v fire", got)
		}
		return err
	})
}

// awaitData waits until each curve has a number.
func (m *monitor) awaitData(t *testing.T, all ...curve) {
	t.Helper()
	harness.Eventually(t, "data of every curve", func() error {
		names, err := m.empty(all)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("no data: %q", names)
		}
		return err
	})
}

// legendLabel is a label in the legend of a panel.
var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

// empty returns the curves without a number, or without a label of their legend.
func (m *monitor) empty(all []curve) (names []string, err error) {
	for _, c := range all {
		query := strings.NewReplacer("$__rate_interval", "10s", "$pod", ".*").Replace(c.Expr)
		var data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
		if err := m.get("/api/v1/query?query="+url.QueryEscape(query), &data); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		numbers := 0
		for _, r := range data.Result {
			if r.Value[1] != "NaN" {
				numbers++
			}
			for _, l := range legendLabel.FindAllStringSubmatch(c.LegendFormat, -1) {
				if r.Metric[l[1]] == "" && l[1] != "group" { // which is empty for the core group
					names = append(names, c.panel+" has a curve without "+l[1])
				}
			}
		}
		if numbers == 0 {
			names = append(names, c.panel+": "+c.Expr)
		}
	}
	return names, nil
}
