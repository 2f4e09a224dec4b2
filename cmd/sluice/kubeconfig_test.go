package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice/proxy/certs"
)

const twoClusters = `apiVersion: v1
kind: Config
current-context: a
preferences: {}
clusters:
- name: one
  cluster:
    server: https://one.example.com:6443/prefix
    certificate-authority: ca.crt
    tls-server-name: inner.example.com
    proxy-url: http://proxy.example.com:3128
    disable-compression: true
    extensions:
    - name: other.example.com/tool
      extension: {kept: [1, two]}
- name: two
  cluster: {server: "https://two.example.com", insecure-skip-tls-verify: true}
contexts:
- name: a
  context: {cluster: one, user: u, namespace: ns}
- name: b
  context: {cluster: two, user: u}
- name: c
  context: {cluster: one, user: u}
users:
- name: u
  user: {token: secret, exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}
`

// kubeconfigDir holds a kubeconfig with two clusters, and a CA.
func kubeconfigDir(t *testing.T) (path, ca string) {
	dir := t.TempDir()
	files, err := certs.Ensure(filepath.Join(dir, "certs"), []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "config")
	overwrite(t, path, twoClusters)
	overwrite(t, filepath.Join(dir, "ca.crt"), "not used")
	return path, files.CA
}

func parseKubeconfig(t *testing.T, text string) *clientcmdapi.Config {
	t.Helper()
	c, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKubeconfigPointsToSluice(t *testing.T) {
	path, ca := kubeconfigDir(t)
	for _, tt := range []struct {
		name string
		args []string
		want map[string]clientcmdapi.Cluster // those that change
	}{
		{"by address", []string{"--server=https://localhost:8443"}, map[string]clientcmdapi.Cluster{"one": {Server: "https://localhost:8443"}}},
		{"by proxy", []string{"--proxy-url=http://u:p@localhost:3128"}, map[string]clientcmdapi.Cluster{
			"one": {Server: "https://one.example.com:6443/prefix", ProxyURL: "http://u:p@localhost:3128"}}},
		{"by another name", []string{"--server=https://localhost:8443", "--tls-server-name=sluice"}, map[string]clientcmdapi.Cluster{
			"one": {Server: "https://localhost:8443", TLSServerName: "sluice"}}},
		{"another context", []string{"--context=b", "--proxy-url=https://localhost:1"}, map[string]clientcmdapi.Cluster{
			"two": {Server: "https://two.example.com", ProxyURL: "https://localhost:1"}}},
		{"contexts of one cluster", []string{"--context=a", "--context=c", "--server=https://x"}, map[string]clientcmdapi.Cluster{"one": {Server: "https://x"}}},
		{"all contexts", []string{"--all", "--server=https://x"}, map[string]clientcmdapi.Cluster{"one": {Server: "https://x"}, "two": {Server: "https://x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, err := output(t, append([]string{"kubeconfig", "--kubeconfig=" + path, "--ca-file=" + ca}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			before, after := parseKubeconfig(t, twoClusters), parseKubeconfig(t, text)
			if diff := cmp.Diff(before.Contexts, after.Contexts) + cmp.Diff(before.AuthInfos, after.AuthInfos) + cmp.Diff(before.CurrentContext, after.CurrentContext); diff != "" {
				t.Errorf("users or contexts have changed:\n%s", diff)
			}
			for name, cluster := range after.Clusters {
				want, changed := tt.want[name]
				if !changed {
					if cluster.Extensions[originalExtension] != nil {
						t.Errorf("cluster %s has changed", name)
					}
					continue
				}
				if cluster.Server != want.Server || cluster.ProxyURL != want.ProxyURL || cluster.TLSServerName != want.TLSServerName || cluster.InsecureSkipTLSVerify ||
					cluster.CertificateAuthority != "" || string(cluster.CertificateAuthorityData) != readFile(t, ca) {
					t.Errorf("cluster %s: %+v", name, cluster)
				}
			}
			if readFile(t, path) != twoClusters {
				t.Error("the file has changed without --write")
			}
		})
	}
}

// TestPrintedKubeconfigLeadsToTheSameFiles wherever it is written to, on the way back, too.
func TestPrintedKubeconfigLeadsToTheSameFiles(t *testing.T) {
	path, _ := kubeconfigDir(t)
	dir := filepath.Dir(path)
	relative := strings.Replace(twoClusters, "{token: secret, exec:",
		"{client-certificate: keys/u.crt, client-key: ../u.key, tokenFile: /run/token, exec:", 1)
	overwrite(t, path, relative)
	absolute := strings.NewReplacer("keys/u.crt", dir+"/keys/u.crt", "../u.key", filepath.Dir(dir)+"/u.key", "ca.crt", dir+"/ca.crt").Replace(relative)
	want := parseKubeconfig(t, absolute)
	t.Chdir(filepath.Dir(dir))
	from := filepath.Join(filepath.Base(dir), "config")
	for _, args := range [][]string{{"--server=https://x"}, {"--proxy-url=http://x"}, {"--context=b", "--server=https://x"}, {"--restore"}} {
		text, err := output(t, append([]string{"kubeconfig", "--kubeconfig=" + from}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		got := parseKubeconfig(t, text)
		if diff := cmp.Diff(want.AuthInfos, got.AuthInfos); diff != "" || got.Clusters["one"].CertificateAuthority != dir+"/ca.crt" {
			t.Errorf("%q: CA %q, users (-want +got):\n%s", args, got.Clusters["one"].CertificateAuthority, diff)
		}
		from = writeFile(t, "config", text)
	}
	if diff := cmp.Diff(want, parseKubeconfig(t, readFile(t, from))); diff != "" {
		t.Errorf("after --restore (-want +got):\n%s", diff)
	}
	if readFile(t, path) != relative {
		t.Error("the file has changed without --write")
	}
}

// TestWrittenKubeconfigIsRestoredByteForByte with its relative paths, by way of another detour, and one cluster after the other.
func TestWrittenKubeconfigIsRestoredByteForByte(t *testing.T) {
	path, ca := kubeconfigDir(t)
	before, err := clientcmd.Write(*parseKubeconfig(t, strings.Replace(twoClusters, "{token: secret", "{client-key: keys/u.key, token: secret", 1)))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, string(before))
	for _, args := range [][]string{{"--server=https://localhost:8443", "--all"}, {"--proxy-url=http://localhost:3128", "--ca-file=" + ca},
		{"--restore", "--context=b"}, {"--restore"}} {
		if _, err := output(t, append([]string{"kubeconfig", "--kubeconfig=" + path, "--write"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(before), readFile(t, path)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// $KUBECONFIG may name several files; each keeps what is its own.
func TestKubeconfigWritesTheFileOfTheCluster(t *testing.T) {
	path, _ := kubeconfigDir(t)
	const other = "apiVersion: v1\nkind: Config\ncurrent-context: b\n"
	first := writeFile(t, "first", other)
	t.Setenv("KUBECONFIG", first+string(os.PathListSeparator)+path)
	if _, err := output(t, "kubeconfig", "--server=https://x", "--write"); err != nil {
		t.Fatal(err)
	}
	if got := parseKubeconfig(t, readFile(t, path)).Clusters["two"].Server; got != "https://x" || readFile(t, first) != other {
		t.Errorf("server %s, other file:\n%s", got, readFile(t, first))
	}
}

// TestKubeconfigOfTheOwnerAlone: it may hold a token, also where a file was open to others before.
func TestKubeconfigOfTheOwnerAlone(t *testing.T) {
	path, _ := kubeconfigDir(t)
	to := filepath.Join(t.TempDir(), "sluice.kubeconfig")
	for range 2 {
		if out, err := output(t, "kubeconfig", "--kubeconfig="+path, "--server=https://x", "-o", to); err != nil || out != "" {
			t.Fatal(out, err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 || parseKubeconfig(t, readFile(t, to)).Clusters["one"].Server != "https://x" {
			t.Errorf("%v, %v", info, err)
		}
		if err := os.Chmod(to, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKubeconfigRefusesWhatItCannotDo(t *testing.T) {
	path, ca := kubeconfigDir(t)
	foreign := writeFile(t, "foreign", strings.Replace(twoClusters, "other.example.com/tool", originalExtension, 1))
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--server or --proxy-url", nil},
		{"takes no new target", []string{"--restore", "--server=https://x"}},
		{"exclude each other", []string{"--all", "--context=a", "--server=https://x"}},
		{"exclude each other", []string{"--write", "-o", "f", "--server=https://x"}},
		{"is not https", []string{"--server=http://x"}}, {"is not https", []string{"--server=x:1"}},
		{"--proxy-url is not", []string{"--proxy-url=socks5://u:p@x"}},
		{`no context "none"`, []string{"--context=none", "--server=https://x"}},
		{"does not point to Sluice", []string{"--context=a", "--restore"}},
		{"holds no certificate", []string{"--server=https://x", "--ca-file=" + path}},
		{"no such file", []string{"--server=https://x", "--ca-file=/none"}},
		{"/none", []string{"--kubeconfig=/none", "--server=https://x"}},
		{"no current context", []string{"--kubeconfig=" + writeFile(t, "empty", ""), "--server=https://x"}},
		{"not one of this command", []string{"--kubeconfig=" + foreign, "--server=https://x", "--ca-file=" + ca}},
	} {
		out, err := output(t, append([]string{"kubeconfig", "--kubeconfig=" + path}, tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v, want %q; printed %q", tt.args, err, tt.want, out)
		}
	}
}
