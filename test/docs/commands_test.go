package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"sluice/test/harness"
)

var (
	makeTarget = regexp.MustCompile(`\bmake ((?:[a-z/-]+ ?)+)`)
	ownProgram = regexp.MustCompile(`(?:^|[|;&] *|bin/)(sluice|demo) ([^|;&#>]+)`)
	longFlag   = regexp.MustCompile(`(?:^| )--([a-z-]+)`)
	runFlag    = regexp.MustCompile(`go test\s.*?(\./[\w/.]+).*-run '?([\w/]+)'?`)
)

// TestCommandsExist looks for each make target, sub-command, flag and test that commands in documents name.
func TestCommandsExist(t *testing.T) {
	targets := read(t, "Makefile") + read(t, "test/controlplane/build.mk") + read(t, "deploy/build.mk")
	seen := 0
	for _, page := range pages(t) {
		prose, commands := split(read(t, page))
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Join(prose, "\n"), -1) {
			commands = append(commands, quoted[1])
		}
		for _, command := range commands {
			command, _, _ = strings.Cut(command, " #")
			if found := makeTarget.FindStringSubmatch(command); found != nil {
				for _, target := range strings.Fields(found[1]) {
					seen++
					target = strings.Replace(target, "bin/", "$(BIN)/", 1)
					if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `( [^:]*)?:`).MatchString(targets) {
						t.Errorf("%s: %s: no target %s", page, command, target)
					}
				}
			}
			for _, found := range ownProgram.FindAllStringSubmatch(command, -1) {
				seen++
				checkProgram(t, page, found[1], found[2])
			}
			if found := runFlag.FindStringSubmatch(command); found != nil {
				seen++
				checkTest(t, page, found[1], found[2])
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d commands: the patterns are wrong", seen)
	}
}

// checkProgram looks for a sub-command and its flags in the source.
func checkProgram(t *testing.T, page, program, args string) {
	t.Helper()
	files := map[string]string{"demo": "test/demo/options.go"}
	name, _, _ := strings.Cut(args, " ")
	if program == "sluice" {
		files[program] = "cmd/sluice/" + name + ".go"
		if name == "completion" || strings.HasPrefix(name, "-") { // cobra's
			return
		}
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path.Join(root, files[program])); err != nil {
		t.Errorf("%s: no sub-command %s %s", page, program, name)
		return
	}
	source := read(t, files[program])
	if name == "serve" {
		source += read(t, "cmd/sluice/flags.go")
	}
	if strings.Contains(source, "adminClient") {
		source += read(t, "cmd/sluice/adminclient.go") + read(t, "cmd/sluice/pod.go") + read(t, "cmd/sluice/output.go")
	}
	for _, flag := range longFlag.FindAllStringSubmatch(args, -1) {
		if !strings.Contains(source, `, "`+flag[1]+`", `) {
			t.Errorf("%s: %s %s has no flag --%s", page, program, name, flag[1])
		}
	}
}

// checkTest looks for a test and its subtests in a package. Names of subtests also come from data.
func checkTest(t *testing.T, page, folder, pattern string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = fs.WalkDir(os.DirFS(root), path.Clean(folder), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".yaml")) {
			text.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: -run %s in %s: %v", page, pattern, folder, err)
		return
	}
	parts := strings.Split(pattern, "/")
	if !regexp.MustCompile(`(?m)^func ` + parts[0]).MatchString(text.String()) {
		t.Errorf("%s: no test %s in %s", page, parts[0], folder)
	}
	for _, part := range parts[1:] {
		if name := strings.ReplaceAll(part, "_", " "); !regexp.MustCompile(`(t\.Run\("|name: )` + regexp.QuoteMeta(name)).MatchString(text.String()) {
			t.Errorf("%s: no subtest %s of %s in %s", page, part, parts[0], folder)
		}
	}
}
