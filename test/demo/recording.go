package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	enter := ". " + d.env()
	r = append(r, scene{command: enter + "    # in another terminal"})
	for _, command := range recorded {
		output, err := d.runCommand(ctx, enter, command)
		if err != nil {
			return err
		}
		r = append(r, scene{command, output})
	}
	if err := os.WriteFile(d.options.record, []byte(draw(r)), 0o644); err != nil {
		return err
	}
	done()
	return errOver
}

// runCommand runs a command as a user would, in a shell that has run enter, and returns what it prints.
func (d *demo) runCommand(ctx context.Context, enter, command string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", enter+"\n"+command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TERM=dumb", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	output = strings.TrimRight(strings.ReplaceAll(string(out), "\r", ""), "\n")
	if err == nil && output == "" {
		err = errors.New("it printed nothing")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return output, nil
}
