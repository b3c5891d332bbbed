package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/test/hostile"
)

// TestLogOnlyShows: a line of the log is one line of JSON that only shows, and holds the
// text that others wrote.
func TestLogOnlyShows(t *testing.T) {
	var out bytes.Buffer
	var flags logFlags
	flags.declare(pflag.NewFlagSet("", pflag.ContinueOnError))
	log := flags.logger(&out)
	log.Info("Denied a route", "user", hostile.Text)
	log.Error(errors.New(hostile.Text), "Failed")
	if err := hostile.Check("text", out.String()); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	first, rest, _ := strings.Cut(out.String(), "\n")
	var line struct{ User string }
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.User != hostile.Text || strings.Count(rest, "\n") != 1 {
		t.Errorf("%v: user %q in %s", err, line.User, out.String())
	}
}

// TestLogIsWhole: many lines with equal messages do not keep others out.
func TestLogIsWhole(t *testing.T) {
	var out bytes.Buffer
	var flags logFlags
	flags.declare(pflag.NewFlagSet("", pflag.ContinueOnError))
	log := flags.logger(&out)
	const lines = 1000
	for i := range lines {
		log.Info("Denied a route", "caller", i)
	}
	if n := strings.Count(out.String(), "\n"); n != lines {
		t.Errorf("%d lines, want %d", n, lines)
	}
}
