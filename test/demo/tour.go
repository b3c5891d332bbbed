package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
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
