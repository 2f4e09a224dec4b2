package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"sluice/config"
	"sluice/proxy/clients"
	"sluice/proxy/see"
	"sluice/proxy/why"
)

// TestMistakesAreAnsweredWithWhatToDo makes the mistakes of people who use the commands for the first time.
func TestMistakesAreAnsweredWithWhatToDo(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	admin := startAdmin(t)
	forbid := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","code":403,"message":"forbidden"}`)
	}
	api := httptest.NewTLSServer(http.HandlerFunc(forbid))
	defer api.Close()
	open := answering(t, func(w http.ResponseWriter, r *http.Request) { // an API that answers /readyz to everybody
		if r.URL.Path != "/readyz" {
			forbid(w, r)
		}
	})
	ca := writeFile(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})))
	silent := listen(t)
	locked := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	pod := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	alone := kubeconfigFor(t, "https://127.0.0.1:1", "")
	for args, says := range map[string]string{
		"status --pod sluice --kubeconfig " + alone:   "nobody listens at the apiserver of the kubeconfig: start it, or name another one with --kubeconfig",
		"status --pod sluice/x --kubeconfig " + alone: "nobody listens at the apiserver of the kubeconfig",
		"nothing":                                          "sluice --help lists the commands",
		"status --nothing":                                 "see sluice status --help",
		"status extra":                                     "unknown command",
		"config check":                                     "name the files",
		"verify":                                           "such as pods",
		"verify pods -o wide":                              "none of text, json, yaml",
		"verify pods --patience 0s":                        "at least 1s",
		"verify pods --kubeconfig /nowhere":                "kubeconfig",
		"status --timeout soon":                            "soon",
		"kubeconfig":                                       "--server or --proxy-url",
		"serve":                                            "there is no kubeconfig: name one with --kubeconfig, or set KUBECONFIG",
		"verify pods":                                      "there is no kubeconfig: ",
		"why /api/v1/pods":                                 "there is no kubeconfig: ",
		"kubeconfig --restore":                             "there is no kubeconfig: ",
		"kubeconfig --server https://x":                    "there is no kubeconfig: ",
		"status --pod sluice":                              "there is no kubeconfig: ",
		"serve --config none.yaml":                         "none.yaml",
		"serve --listen nowhere":                           `listen: "nowhere" is not host:port`,
		"serve --tls-cert-file x":                          "tls: certFile and keyFile",
		"serve --log-level loud":                           "log.level",
		"serve --kubeconfig /none":                         "kubeconfig",
		"serve extra":                                      "unknown command",
		"status --address 127.0.0.1:9443":                  `"127.0.0.1:9443" is not http://host:port`,
		"clients --address sluice":                         `"sluice" is not http://host:port`,
		"status --address http://127.0.0.1:1":              "nobody listens at http://127.0.0.1:1: start it, or name another one with --address",
		"status --address https" + admin[4:]:               "speaks HTTP: write http://",
		"status --address http" + api.URL[5:]:              "speaks HTTPS: write https:// in --address",
		"status --address " + api.URL:                      "look whether --ca-file is right",
		"status --ca-file " + ca + " --address " + api.URL: "is no admin listener of Sluice",
		"bundle -y -o - --ca-file " + ca + " --address " + api.URL:         "is no admin listener of Sluice",
		"bundle -y -o - --address " + open:                                 "is no admin listener of Sluice",
		"status --timeout 50ms --address http://" + silent.Addr().String(): "has not answered within 50ms",
		"status --address " + locked:                                       "name a file with a token for the API with --token-file",
		"watches --address " + pod:                                         "is no Sluice of this release",
		"clients --sort-by size":                                           "none of would-cost, cost",
		"why --last 3 --show nothing":                                      "none of served, passed",
		"status --ca-file none --address " + admin:                         "--ca-file: open none",
		"status --token-file none --address " + admin:                      "--token-file: open none",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := runWith(ctx, strings.Fields(args))
		cancel()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(strings.TrimPrefix(err.Error(), "configuration:\n"), "\n") || exitCode(err) != exitUnknown {
			t.Errorf("sluice %s: %v (exit %d), want %q", args, err, exitCode(err), says)
		}
	}
}

// TestAddressComesFromTheEnvironment, and a flag overrides it.
func TestAddressComesFromTheEnvironment(t *testing.T) {
	t.Setenv("SLUICE_ADDRESS", startAdmin(t))
	if out, code := execute(t, "clients"); code != 0 || !strings.Contains(out, "jane") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if _, code := execute(t, "clients", "--address", "http://127.0.0.1:1"); code != exitUnknown {
		t.Errorf("with --address: exit %d", code)
	}
}

// TestTheAnswerNoExitsWith1, as the program runs a command, and prints nothing more than the answer.
func TestTheAnswerNoExitsWith1(t *testing.T) {
	for _, command := range []string{"status", "watches --behind 1s"} {
		if err := runWith(t.Context(), append(strings.Fields(command), "--address", startAdmin(t))); exitCode(err) != exitNotWell || err != error(no{}) {
			t.Errorf("%s: %v (exit %d)", command, err, exitCode(err))
		}
	}
}

// TestVersionIsAFlagToo prints the same.
func TestVersionIsAFlagToo(t *testing.T) {
	command, _ := execute(t, "version")
	if flag, code := execute(t, "--version"); flag != command || code != 0 || !strings.HasPrefix(flag, "sluice ") {
		t.Errorf("%q (exit %d), the command prints %q", flag, code, command)
	}
}

// TestAStartThatFailsLeavesNothingBehind although it would have issued a certificate.
func TestAStartThatFailsLeavesNothingBehind(t *testing.T) {
	taken := listen(t)
	kubeconfig := kubeconfigFor(t, "https://127.0.0.1:1", "")
	for _, flags := range []string{"--listen " + taken.Addr().String(), "--listen 127.0.0.1:0 --admin-listen " + taken.Addr().String(),
		"--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --proxy-listen " + taken.Addr().String()} {
		dir := filepath.Join(t.TempDir(), "certs")
		err := runWith(t.Context(), strings.Fields("serve --kubeconfig "+kubeconfig+" --cert-dir "+dir+" "+flags))
		if err == nil || !strings.Contains(err.Error(), "choose another address with --") {
			t.Errorf("%s: %v", flags, err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: %s is there", flags, dir)
		}
	}
}

// TestCertificatesHaveOnePlace whatever the working directory is.
func TestCertificatesHaveOnePlace(t *testing.T) {
	for _, tt := range []struct{ state, home, dir, want string }{
		{"/state", "/home/jane", "", "/state/sluice"}, {"", "/home/jane", "", "/home/jane/.local/state/sluice"},
		{"not/absolute", "/home/jane", "", "/home/jane/.local/state/sluice"}, {"/state", "/home/jane", "here", "here"}, {"", "", "", ""},
	} {
		t.Setenv("XDG_STATE_HOME", tt.state)
		t.Setenv("HOME", tt.home)
		if got, err := (config.TLS{CertDir: tt.dir}).Dir(); got != tt.want || (err == nil) != (got != "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

// TestLastRequestsAreChosenByUserVerbAndCode among all that are kept, not among those that are shown.
func TestLastRequestsAreChosenByUserVerbAndCode(t *testing.T) {
	ring := new(why.Ring)
	for _, q := range []why.Request{{User: "poller", Verb: "LIST", Code: 200}, {User: "jane", Verb: "LIST", Code: 404}, {User: "jane", Verb: "WATCH", Code: 200}} {
		q.Known, q.Agent = true, q.Verb+fmt.Sprint(q.Code)+q.User
		ring.Add(clients.Passed, &q)
	}
	s := see.NewSampler(see.Options{
		Gather: func() ([]*dto.MetricFamily, error) { return nil, nil }, Stopping: func() bool { return false },
		Upstream: func() see.Upstream { return see.Upstream{} }, Kept: ring, Names: true,
	})
	url := answering(t, s.Handler().ServeHTTP)
	for flags, want := range map[string]string{"--user jan": "23", "--verb list": "12", "--code 200": "13", "--user jane --verb watch": "3", "--code 500": ""} {
		out, code := execute(t, append(strings.Fields("why --last 2 --address "+url), strings.Fields(flags)...)...)
		got := ""
		for i, agent := range []string{"LIST200poller", "LIST404jane", "WATCH200jane"} {
			if strings.Contains(out, agent) {
				got += strconv.Itoa(i + 1)
			}
		}
		if got != want || code != 0 {
			t.Errorf("%s: %q (exit %d), want %q\n%s", flags, got, code, want, out)
		}
	}
	if _, code := execute(t, "why", "/api/v1/pods", "--user", "jane"); code != exitUnknown {
		t.Errorf("--user without --last: exit %d", code)
	}
}
