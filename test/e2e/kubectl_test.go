//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/node"
)

// clusterFile returns the path of one of the cluster's files.
func clusterFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := node.Dir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// kubectlTimeout bounds one run of kubectl.
const kubectlTimeout = 3 * time.Minute

// kubectl runs kubectl at the root of the repository, as a user would, and returns
// what it prints.
func kubectl(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), kubectlTimeout) // clean-ups run kubectl too
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterFile(t, "bin/kubectl"), args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+clusterFile(t, "kubeconfig"))
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// mustKubectl is kubectl where it has to succeed.
func mustKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, err := kubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	return out
}

// errAgain says that a condition does not hold yet.
var errAgain = errors.New("not yet")

// waitFor calls done until it returns nil, and fails after the timeout.
func waitFor(t *testing.T, what string, timeout time.Duration, done func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := done()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, timeout, err)
		case <-ticker.C:
		}
	}
}

// says returns an error unless the text has the part in it.
func says(text, part string) error {
	if strings.Contains(text, part) {
		return nil
	}
	return fmt.Errorf("%q is not in:\n%s", part, text)
}
