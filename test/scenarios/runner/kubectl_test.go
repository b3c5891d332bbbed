package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// kubectl applies the document, and reads the verdict from what kubectl prints.
func (s *apiSession) kubectl(ctx context.Context, document *Document) (*Outcome, error) {
	user := document.User
	args := []string{"apply", "-f", "-", "-o", "json", "--as"}
	if user == "" {
		args = append(args, administrator, "--as-group", "system:masters")
	} else {
		args = append(args, user)
	}
	if document.DryRun {
		args = append(args, "--dry-run=server")
	}
	if document.ServerSide {
		args = append(args, "--server-side", "--force-conflicts")
	}
	stdout, stderr, err := s.plane.Kubectl(ctx, string(document.JSON), args...)
	outcome := read(stderr)
	if err == nil {
		outcome.Object = []byte(stdout)
		return outcome, nil
	}
	if exit := new(exec.ExitError); !errors.As(err, &exit) || ctx.Err() != nil {
		return nil, err
	}
	if strings.Contains(stderr, "failed calling webhook") {
		return nil, fmt.Errorf("gammaguard did not answer: %s\nits log ends with:\n%s", strings.TrimSpace(stderr), tail(s.running.Log(), 20))
	}
	outcome.Denied = true
	return outcome, nil
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
