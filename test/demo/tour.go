package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// stepsFile is the file of a stop's archive that holds its steps.
const stepsFile = "steps.yaml"

// The tour is what the demo plays; tour/README.md has the format. clusterManifest is
// what is there before the first stop.
var (
	//go:embed tour/*.txtar
	tourFiles embed.FS
	//go:embed tour/cluster.yaml
	clusterManifest string
)

// stop is one archive of the tour.
type stop struct {
	announcement string
	files        []txtar.File
	steps        []step
}

// step is one command, and what must come of it.
type step struct {
	Run     string   `json:"run"`
	Verdict string   `json:"verdict"`
	Text    []string `json:"text"`
}

// The verdicts: whether a command succeeds.
const admit, deny = "admit", "deny"

// readTour reads the stops in a folder named tour.
func readTour(dir fs.FS) (stops []stop, err error) {
	names, err := fs.Glob(dir, "tour/*.txtar")
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		archive := txtar.Parse(data)
		s := stop{announcement: strings.TrimSpace(string(archive.Comment))}
		for _, file := range archive.Files {
			if file.Name != stepsFile {
				s.files = append(s.files, file)
			} else if err := yaml.UnmarshalStrict(file.Data, &s.steps); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, stepsFile, err)
			}
		}
		stops = append(stops, s)
	}
	return stops, err
}

// player plays a tour in folders under dir, and runs commands in the environment.
type player struct {
	out     io.Writer
	dir     string
	environ []string
}

// play plays every stop, in a folder of its own, and returns how many steps did
// not end as announced.
func (p *player) play(ctx context.Context, stops []stop) (surprises int, err error) {
	for i, s := range stops {
		fmt.Fprintf(p.out, "\n==== %d of %d ====\n%s\n", i+1, len(stops), s.announcement)
		dir := filepath.Join(p.dir, fmt.Sprint(i+1))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return surprises, err
		}
		for _, file := range s.files {
			fmt.Fprintf(p.out, "\n# %s\n%s", file.Name, file.Data)
			if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
				return surprises, err
			}
		}
		for _, step := range s.steps {
			fmt.Fprintf(p.out, "\n$ %s\n", step.Run)
			cmd := exec.CommandContext(ctx, "sh", "-c", step.Run)
			cmd.Dir, cmd.Env, cmd.WaitDelay = dir, p.environ, 5*time.Second
			output, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); err != nil && (ctx.Err() != nil || !errors.As(err, &exit)) {
				return surprises, fmt.Errorf("%s: %w", step.Run, err)
			}
			fmt.Fprintf(p.out, "%s", output)
			faults := step.compare(string(output), cmd.ProcessState.ExitCode())
			for _, fault := range faults {
				fmt.Fprintf(p.out, "!! not as announced: %s\n", fault)
			}
			surprises += min(len(faults), 1)
		}
	}
	return surprises, nil
}

// compare returns how what came of the command differs from what was announced.
func (s step) compare(output string, code int) (faults []string) {
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
