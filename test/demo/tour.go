package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// clusterFile is the manifest of what is there before the first stop.
const clusterFile = "cluster.yaml"

// stepsFile is the file of a stop's archive that holds its steps.
const stepsFile = "steps.yaml"

//go:embed tour/cluster.yaml tour/*.txtar
var tourFiles embed.FS

// tour is what the demo plays; tour/README.md has the format.
type tour struct {
	cluster []byte
	stops   []stop
}

// stop is one archive of the tour.
type stop struct {
	announcement string
	files        []txtar.File
	steps        []step
}

// step is one command, and what must come of it.
type step struct {
	Run     string   `json:"run"`
	Verdict verdict  `json:"verdict"`
	Text    []string `json:"text"`
}

// verdict is whether a command succeeds.
type verdict string

const (
	admit verdict = "admit"
	deny  verdict = "deny"
)

// readTour reads a tour from a folder.
func readTour(dir fs.FS) (*tour, error) {
	cluster, err := fs.ReadFile(dir, clusterFile)
	if err != nil {
		return nil, fmt.Errorf("read the tour: %w", err)
	}
	names, err := fs.Glob(dir, "*.txtar")
	if err != nil {
		return nil, fmt.Errorf("read the tour: %w", err)
	}
	t := &tour{cluster: cluster}
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read the tour: %w", err)
		}
		s, err := readStop(data)
		if err != nil {
			return nil, fmt.Errorf("read the tour: %s: %w", path.Base(name), err)
		}
		t.stops = append(t.stops, s)
	}
	return t, nil
}

// readStop reads one archive.
func readStop(data []byte) (stop, error) {
	archive := txtar.Parse(data)
	s := stop{announcement: strings.TrimSpace(string(archive.Comment))}
	for _, file := range archive.Files {
		if file.Name != stepsFile {
			s.files = append(s.files, file)
			continue
		}
		if err := yaml.UnmarshalStrict(file.Data, &s.steps); err != nil {
			return s, fmt.Errorf("%s: %w", stepsFile, err)
		}
	}
	if s.announcement == "" {
		return s, fmt.Errorf("no announcement above the first file")
	}
	if len(s.steps) == 0 {
		return s, fmt.Errorf("no steps in %s", stepsFile)
	}
	for i, step := range s.steps {
		if step.Run == "" || step.Verdict != admit && step.Verdict != deny || len(step.Text) == 0 {
			return s, fmt.Errorf("%s: step %d needs run, text, and a verdict that is %s or %s", stepsFile, i+1, admit, deny)
		}
	}
	return s, nil
}

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
