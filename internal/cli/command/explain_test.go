package command

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// TestExplainCatalog: every rule and every mutation is listed, and each can be
// explained.
func TestExplainCatalog(t *testing.T) {
	var ids []string
	for _, rule := range rules.Catalog() {
		ids = append(ids, rule.ID)
	}
	for _, mutation := range mutate.Catalog() {
		ids = append(ids, mutation.ID)
	}
	table := run(t, "", "explain")
	for _, id := range ids {
		if !strings.Contains(table.stdout, "\n"+id+" ") {
			t.Errorf("%s is not listed", id)
		}
		got := run(t, "", "explain", id)
		if got.code != ExitClean || !strings.HasPrefix(got.stdout, id+" (") {
			t.Errorf("%s: %+v", id, got)
		}
		for _, heading := range []string{"DESCRIPTION", "RATIONALE", "HOW TO FIX", "SPECIFICATION", "CONFIGURATION"} {
			if !strings.Contains(got.stdout, "\n"+heading+"\n  ") {
				t.Errorf("%s: no %s in\n%s", id, heading, got.stdout)
			}
		}
		for line := range strings.SplitSeq(got.stdout, "\n") {
			if len(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: a line of %d columns: %s", id, len(line), line)
			}
		}
	}
	var topics []explain.Topic
	if err := json.Unmarshal([]byte(run(t, "", "explain", "-o", "json").stdout), &topics); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(explain.Topics(), topics); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

// TestExplain holds how one topic reads.
func TestExplain(t *testing.T) {
	golden(t, "explain-broken-document", run(t, "", "explain", "broken-document").stdout)
}

// TestConfiguration: what a topic says of how to configure it is right.
func TestConfiguration(t *testing.T) {
	for _, topic := range explain.Topics() {
		text := topic.Configuration()
		if topic.Class == explain.Input {
			if text != "" {
				t.Errorf("%s: %s", topic.ID, text)
			}
			continue
		}
		config := "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n" + text + "\n"
		if _, err := loadConfig(config); err != nil {
			t.Errorf("%s: %v", topic.ID, err)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", "parent-hea"}, "parent-headless\t"},
		{[]string{"check", "-o", ""}, "sarif\n"},
		{[]string{"check", "--fail-on", ""}, "never\n"},
		{[]string{"con"}, "conflicts\t"},
	} {
		got := run(t, "", append([]string{"__complete"}, test.args...)...)
		if !strings.Contains(got.stdout, test.want) {
			t.Errorf("%q: want %q in %q", test.args, test.want, got.stdout)
		}
	}
	root := New("gammaguard", streamsOf(t))
	scripts := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        root.GenZshCompletion,
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
	}
	for shell := range scripts {
		var want bytes.Buffer
		if err := scripts[shell](&want); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "completion", shell); got.code != ExitClean || got.stdout != want.String() { // nothing in a script is escaped
			t.Errorf("%s: exit code %d, %s (-want +got)\n%s", shell, got.code, got.stderr, cmp.Diff(want.String(), got.stdout))
		}
		if got := run(t, "", "completion", shell, "--help"); got.code != ExitClean || strings.Contains(got.stdout, "#") {
			t.Errorf("%s: the help has marks of Markdown: %+v", shell, got)
		}
	}
}

func TestVersion(t *testing.T) {
	got := run(t, "", "version")
	if parts := strings.Fields(got.stdout); got.code != ExitClean || len(parts) != 4 || parts[2] != "("+runtime.Version()+"," {
		t.Errorf("%+v", got)
	}
}

// TestHelp: each command has examples, and they use flags that exist.
func TestHelp(t *testing.T) {
	root := New("gammaguard", streamsOf(t))
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		if cmd.Example == "" {
			t.Errorf("%s has no examples", cmd.Name())
		}
		for word := range strings.FieldsSeq(cmd.Example) {
			if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s: an example uses --%s, which does not exist", cmd.Name(), name)
			}
		}
	}
}

// TestExplainInput: the configuration says of each finding about the input that it is none of a rule.
func TestExplainInput(t *testing.T) {
	for _, topic := range explain.Topics() {
		_, err := config.Load([]byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nrules: {" + topic.ID + ": off}\n"))
		if is := err != nil && strings.Contains(err.Error(), "cannot be configured"); is != (topic.Class == explain.Input) {
			t.Errorf("%s: %v", topic.ID, err)
		}
	}
}
