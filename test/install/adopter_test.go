package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/test/bed"
	webhook "github.com/gammaguard/gammaguard/test/bed/guard"
)

// operator is a user who follows a page of docs/.
type operator struct {
	root string
	// path has gammaguard.
	path string
	// cache remembers what the API server serves, which other tests change.
	cache string
	// guard runs in the place of the Pods.
	guard *webhook.Guard
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if _, err := bed.Go(t.Context(), root, nil, "build", "-buildvcs=false", "-o", bin, "./cmd/gammaguard"); err != nil {
		t.Fatal(err)
	}
	return &operator{root: root, path: bin, cache: t.TempDir()}
}

// stop stops gammaguard-webhook, where it runs.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	if o.guard == nil {
		return
	}
	if err := o.guard.Stop(); err != nil {
		t.Error(err)
	}
}

// adoption is a cluster that adopts gammaguard by the guide in docs/adoption.md.
type adoption struct {
	*operator
	// announced are the verdicts of the audits of each namespace before it is enforced, by
	// kind and name.
	announced map[string]map[string]report.Verdict
}

func newAdoption(t *testing.T) *adoption {
	t.Helper()
	a := &adoption{newOperator(t), map[string]map[string]report.Verdict{}}
	a.apply(t, legacyCluster()...)
	kubectl(t, "label", "namespace", "closed", "gammaguard.dev/consumer-routes=deny")
	return a
}

func (o *operator) apply(t *testing.T, documents ...string) string {
	t.Helper()
	_, stderr, err := plane.Kubectl(t.Context(), strings.Join(documents, "\n---\n"), "apply", "-f", "-")
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return stderr
}

// serve runs gammaguard-webhook with the configuration file, in the place of the Pods.
func (o *operator) serve(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.root, file))
	if err != nil {
		t.Fatal(err)
	}
	o.stop(t)
	if o.guard, err = webhook.Start(t.Context(), plane, webhook.Options{Config: string(text)}); err != nil {
		t.Fatal(err)
	}
}

// sh runs a command as a user does who stands in the root of the repository.
func (o *operator) sh(t *testing.T, command string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.root, &out, &complaint
	cmd.Env = append(plane.Environ(), "KUBECACHEDIR="+o.cache, "PATH="+strings.Join([]string{o.path, plane.BinDir, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), complaint.String()
}

func (o *operator) must(t *testing.T, command string) {
	t.Helper()
	if code, _, stderr := o.sh(t, command); code != 0 {
		t.Fatalf("%s: exit code %d: %s", command, code, stderr)
	}
}

// audit runs the command for its JSON.
func (a *adoption) audit(t *testing.T, command string) *audit.Report {
	t.Helper()
	_, stdout, stderr := a.sh(t, command+" -o json")
	r := &audit.Report{}
	if err := json.Unmarshal([]byte(stdout), r); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return r
}
