package docs

import (
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
	targets := harness.Read(t, "Makefile") + harness.Read(t, "test/controlplane/build.mk") + harness.Read(t, "deploy/build.mk")
	seen := 0
	for _, page := range pages(t) {
		var commands []string
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Join(proseOf(harness.Read(t, page)), "\n"), -1) {
			commands = append(commands, quoted[1])
		}
		blocks, err := harness.GuideBlocks(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			commands = append(commands, strings.Split(strings.ReplaceAll(b.Text, "\\\n", ""), "\n")...)
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
	files := map[string]string{"demo": "test/demo/main.go"}
	name, _, _ := strings.Cut(args, " ")
	if program == "sluice" {
		files[program] = "cmd/sluice/" + name + ".go"
		if name == "completion" || strings.HasPrefix(name, "-") { // cobra's
			return
		}
	}
	if _, err := os.Stat(harness.Path(t, files[program])); err != nil {
		t.Errorf("%s: no sub-command %s %s", page, program, name)
		return
	}
	source := harness.Read(t, files[program])
	if name == "serve" {
		source += harness.Read(t, "cmd/sluice/flags.go")
	}
	if strings.Contains(source, "adminClient") {
		source += harness.Read(t, "cmd/sluice/adminclient.go") + harness.Read(t, "cmd/sluice/pod.go") + harness.Read(t, "cmd/sluice/output.go")
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
	folder = path.Clean(folder)
	text := texts(t, filesBelow(t, folder, "_test.go")) + texts(t, filesBelow(t, folder, ".yaml"))
	parts := strings.Split(pattern, "/")
	if !regexp.MustCompile(`(?m)^func ` + parts[0]).MatchString(text) {
		t.Errorf("%s: no test %s in %s", page, parts[0], folder)
	}
	for _, part := range parts[1:] {
		if name := strings.ReplaceAll(part, "_", " "); !regexp.MustCompile(`(t\.Run\("|name: )` + regexp.QuoteMeta(name)).MatchString(text) {
			t.Errorf("%s: no subtest %s of %s in %s", page, part, parts[0], folder)
		}
	}
}
