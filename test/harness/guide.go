package harness

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guideMark stands above a code block of a guide. It names the test that runs the block, and the block.
var guideMark = regexp.MustCompile(`^<!-- (\S+): (\S+) -->$`)

// GuideBlock is a code block of a guide: commands, or a file.
type GuideBlock struct {
	// Test is the folder of the test that runs the block, or the program that does. It is empty, and so
	// is Name, for a block without a mark.
	Test, Name string
	Line       int // where it begins
	Text       string
}

// GuideBlocks returns the code blocks of a guide, a document in Markdown of the repository.
func GuideBlocks(guide string) ([]GuideBlock, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		return nil, err
	}
	var blocks []GuideBlock
	var last *GuideBlock // whose text goes on
	test, name := "", ""
	begin := func(line int) {
		blocks = append(blocks, GuideBlock{Test: test, Name: name, Line: line})
		last, test, name = &blocks[len(blocks)-1], "", ""
	}
	fenced := false
	for i, line := range strings.Split(string(text), "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		mark := guideMark.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			if fenced = !fenced; fenced {
				begin(i + 2)
			} else {
				last = nil
			}
		case fenced:
			last.Text += line + "\n"
		case indented:
			if last == nil {
				begin(i + 1)
			}
			last.Text += code + "\n"
		case mark != nil:
			last, test, name = nil, mark[1], mark[2]
		case line != "":
			last, test, name = nil, "", ""
		}
	}
	return blocks, nil
}

// Guide runs the code blocks of a guide in a directory in which bin and deploy are those of the repository.
type Guide struct {
	Dir    string
	t      testing.TB
	blocks map[string]string
	env    []string
}

// NewGuide returns the blocks of a guide that are marked with the name of a test. Their commands use a
// kubeconfig, and programs of bin.
func NewGuide(t testing.TB, guide, test, kubeconfig string, env ...string) *Guide {
	t.Helper()
	blocks, err := GuideBlocks(guide)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	g := &Guide{
		Dir: dir, t: t, blocks: map[string]string{},
		env: append(os.Environ(), append([]string{"XDG_STATE_HOME=", "HOME=" + dir, "KUBECONFIG=" + kubeconfig, "PATH=" + Path(t, "bin") + ":" + os.Getenv("PATH")}, env...)...),
	}
	for _, name := range []string{"bin", "deploy"} {
		if err := os.Symlink(Path(t, name), filepath.Join(g.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range blocks {
		if b.Test == test {
			g.blocks[b.Name] = b.Text
		}
	}
	return g
}

// Text returns a block.
func (g *Guide) Text(name string) string {
	g.t.Helper()
	text, found := g.blocks[name]
	if !found {
		g.t.Fatalf("the guide has no block %q for this test", name)
	}
	return text
}

// Commands returns the commands of a block, continued lines as one.
func (g *Guide) Commands(name string) []string {
	g.t.Helper()
	return slices.Collect(commands(g.Text(name)))
}

// commands yields the commands of a text, continued lines as one.
func commands(text string) iter.Seq[string] {
	return strings.Lines(strings.ReplaceAll(text, "\\\n", ""))
}

// Write writes a file into the directory.
func (g *Guide) Write(name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// Shell runs a command as Run does, and returns its output.
func (g *Guide) Shell(command string) string {
	g.t.Helper()
	out, err := g.command(command).CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// Serve starts a command that is sluice serve, on a free port of the admin listener, and returns its addresses.
// It ends with the test.
func (g *Guide) Serve(command string) (url, admin string) {
	g.t.Helper()
	cmd := g.command("exec " + strings.TrimSpace(command) + " --admin-listen 127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
			g.t.Errorf("%s: %v\n%s", command, err, &log)
		}
	})
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		g.t.Fatalf("%s: %v\n%s", command, err, &log)
	}
	if _, err := fmt.Sscanf(ready, "ready %s admin %s", &url, &admin); err != nil {
		g.t.Fatalf("%s: %v in %q", command, err, ready)
	}
	return url, admin
}

// Run runs the commands of a block, one after the other, and returns their output. Each must succeed. A
// command that ends in & runs until the end of the block; those after it are repeated until it is ready.
// Replacements are pairs of texts that stand for what is different here: the names of users, for example.
func (g *Guide) Run(name string, replacements ...string) string {
	g.t.Helper()
	text := g.Text(name)
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			g.t.Fatalf("block %q has no %q", name, replacements[i])
		}
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	var all strings.Builder
	background := false
	for command := range commands(text) {
		if first, found := strings.CutSuffix(strings.TrimSpace(command), " &"); found {
			background = true
			defer g.start(first)()
			continue
		}
		run := func() error {
			out, err := g.command(command).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s%w\n%s", command, err, out)
			}
			all.Write(out)
			return nil
		}
		if background {
			Eventually(g.t, "block "+name, run)
		} else if err := run(); err != nil {
			g.t.Fatal(err)
		}
	}
	return all.String()
}

func (g *Guide) command(text string) *exec.Cmd {
	cmd := exec.CommandContext(g.t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = g.Dir, g.env
	return cmd
}

// start starts a command, which stop ends.
func (g *Guide) start(text string) (stop func()) {
	g.t.Helper()
	cmd := g.command("exec " + text)
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
