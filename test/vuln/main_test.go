package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

const output = `
{"config": {"protocol_version": "v1.0.0"}}
{"osv": {"id": "GO-2026-0001"}}
{"finding": {"osv": "GO-2026-0001", "fixed_version": "v1.2.4", "trace": [
	{"module": "example.com/m", "version": "v1.2.3", "package": "example.com/m/p", "function": "Parse"},
	{"module": "example.com/cmd", "package": "example.com/cmd", "function": "main"}]}}
{"finding": {"osv": "GO-2026-0002", "trace": [{"module": "example.com/n", "version": "v1.0.0"}]}}
{"finding": {"osv": "GO-2026-0003", "trace": [{"module": "example.com/n", "version": "v1.0.0", "package": "example.com/n/q"}]}}
`

// TestJudge: what is reached fails unless it is accepted with a reason, until the day that it
// names, and only as long as it is reached.
func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const reached = "https://pkg.go.dev/vuln/GO-2026-0001: example.com/m@v1.2.3: example.com/m/p.Parse, called from example.com/cmd.main; fixed in v1.2.4"
	for _, test := range []struct {
		name     string
		accepted []acceptance
		want     string
	}{
		{"reached", nil, reached},
		{"accepted", []acceptance{{"GO-2026-0001", "no input of others", "2026-11-23"}}, ""},
		{"expired", []acceptance{{"GO-2026-0001", "no input of others", "2026-11-22"}}, "GO-2026-0001 was accepted until 2026-11-22"},
		{"no reason", []acceptance{{"GO-2026-0001", "", "2026-11-23"}}, "GO-2026-0001 is accepted without a reason or a date such as 2026-12-31"},
		{"no date", []acceptance{{"GO-2026-0001", "x", ""}}, "GO-2026-0001 is accepted without a reason or a date such as 2026-12-31"},
		{
			"not reached",
			[]acceptance{{"GO-2026-0002", "x", "2026-12-31"}},
			"GO-2026-0002 is accepted, and cannot be reached: remove it from the list\n" + reached,
		},
	} {
		found, err := reachable(strings.NewReader(output))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := judge(found, test.accepted, now); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if _, err := reachable(strings.NewReader(output + "{")); err == nil {
		t.Error("half an output is taken for all of it")
	}
}

// TestCIChecksVulnerabilities: .ci/run runs the target, and the target this program.
func TestCIChecksVulnerabilities(t *testing.T) {
	for file, want := range map[string]string{"../../.ci/run": "step make vulncheck", "../../Makefile": "go run ./test/vuln "} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v", file, want, err)
		}
	}
}
