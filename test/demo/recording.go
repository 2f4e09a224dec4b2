package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recorded are the commands of a recording. The variables are those of demo.writeEnv.
var recorded = []string{
	`kubectl get pods -A --chunk-size=0 | head -5`,
	`kubectl get backups -A | head -4`,
	`curl -sD - --compressed --cacert $CA -H @$TOKEN $SLUICE/api/v1/pods | grep -iE '^(content-e|sluice)'`,
}

// settle is how long the clients run before the counters are recorded.
const settle = 10 * time.Second

// recording is what a terminal shows, from top to bottom.
type recording []scene

// scene is a command and what it prints, or a further line of the command before.
type scene struct {
	command string // as typed; empty for a further line
	output  string // ASCII, without the last line feed
	took    time.Duration
}

// record runs the commands and draws them below the steps of the demo.
func (d *demo) record(ctx context.Context, costs costs) error {
	done := d.step("Recording %s", d.options.record)
	r := append(recording{{command: "make demo"}}, d.steps...)
	if !pause(ctx, settle) {
		return ctx.Err()
	}
	c := &counters{costs: costs}
	if err := d.readCounters(ctx, c); err != nil {
		return err
	}
	r = append(r, scene{output: "\n" + c.String()})
	enter := ". " + near(d.env())
	r = append(r, scene{command: enter + "    # in another terminal"})
	for _, command := range recorded {
		s, err := d.runCommand(ctx, enter, command)
		if err != nil {
			return err
		}
		r = append(r, s)
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := os.WriteFile(d.options.record, []byte(draw(r)), 0o644); err != nil {
		return err
	}
	done()
	return errOver
}

// runCommand runs a command as a user would, in a shell that has run enter.
func (d *demo) runCommand(ctx context.Context, enter, command string) (scene, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", enter+"\n"+command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir.path, "TERM=dumb", "LC_ALL=C.UTF-8"}
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	output := strings.TrimRight(strings.ReplaceAll(string(out), "\r", ""), "\n")
	if err == nil && output == "" {
		err = errors.New("it printed nothing")
	}
	if err != nil {
		return scene{}, fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return scene{command: command, output: output, took: took}, nil
}

// secret matches what could be a token, a key or a certificate: long words without the hyphens and dots that
// names have. Those of paths are longer.
var secret = regexp.MustCompile(`(?i)[a-z0-9+_=]{20,}|[a-z0-9+/_=]{40,}|-----BEGIN|bearer`)

// check returns an error if the recording tells something of the machine: credentials, its name, or where its
// user works.
func (r recording) check() error {
	foreign := []string{os.Getenv("HOME")}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		foreign = append(foreign, name, short)
	}
	if here, err := os.Getwd(); err == nil {
		foreign = append(foreign, here)
	}
	foreign = slices.DeleteFunc(foreign, func(s string) bool { return len(strings.Trim(s, "/")) < 2 })
	for _, s := range r {
		text := s.command + "\n" + s.output
		if found := secret.FindString(text); found != "" {
			return fmt.Errorf("the recording would show %.6s..., which could be a secret", found)
		}
		for _, f := range foreign {
			if regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(f) + `(\W|$)`).MatchString(text) {
				return fmt.Errorf("the recording would show %q, of this machine", f)
			}
		}
	}
	return nil
}
