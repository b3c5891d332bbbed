package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// shell runs a command line in a folder and returns all that it prints, and its
// exit code. An error is one of running it, not of what came of it.
type shell func(ctx context.Context, dir, command string) (output string, code int, err error)

// player plays a tour.
type player struct {
	out io.Writer
	dir string
	run shell
}

// play plays every stop, in a folder of its own, and returns how many steps did
// not end as announced.
func (p *player) play(ctx context.Context, t *tour) (surprises int, err error) {
	for i, s := range t.stops {
		fmt.Fprintf(p.out, "\n==== %d of %d ====\n%s\n", i+1, len(t.stops), s.announcement)
		dir := filepath.Join(p.dir, fmt.Sprint(i+1))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return surprises, fmt.Errorf("play the tour: %w", err)
		}
		for _, file := range s.files {
			fmt.Fprintf(p.out, "\n# %s\n%s", file.Name, file.Data)
			if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
				return surprises, fmt.Errorf("play the tour: %w", err)
			}
		}
		for _, step := range s.steps {
			surprise, err := p.step(ctx, dir, step)
			if err != nil {
				return surprises, fmt.Errorf("play the tour: %s: %w", step.Run, err)
			}
			if surprise {
				surprises++
			}
		}
	}
	return surprises, nil
}

// step runs one command and says whether it ended otherwise than announced.
func (p *player) step(ctx context.Context, dir string, s step) (surprise bool, err error) {
	fmt.Fprintf(p.out, "\n$ %s\n", s.Run)
	output, code, err := p.run(ctx, dir, s.Run)
	if err != nil {
		return false, err
	}
	fmt.Fprint(p.out, output)
	faults := s.compare(output, code)
	for _, fault := range faults {
		fmt.Fprintf(p.out, "!! not as announced: %s\n", fault)
	}
	return len(faults) > 0, nil
}

// compare returns how what came of the command differs from what was announced.
func (s step) compare(output string, code int) []string {
	var faults []string
	got := admit
	if code != 0 {
		got = deny
	}
	if got != s.Verdict {
		faults = append(faults, fmt.Sprintf("the verdict is %s (exit code %d), announced was %s", got, code, s.Verdict))
	}
	for _, text := range s.Text {
		if !strings.Contains(output, text) {
			faults = append(faults, fmt.Sprintf("%q is missing in the output", text))
		}
	}
	return faults
}
