package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestTourIsWellFormed(t *testing.T) {
	stops, err := readTour(tourFiles)
	if err != nil {
		t.Fatal(err)
	}
	if len(stops) < 7 {
		t.Errorf("the tour has %d stops, want seven", len(stops))
	}
}

func TestReadTourRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		archive string
		want    string
	}{
		"no announcement": {archive: "-- steps.yaml --\n- {run: x, verdict: admit, text: [x]}\n", want: "no announcement"},
		"no steps":        {archive: "Title.\n-- a.yaml --\na: b\n", want: "no steps"},
		"unknown verdict": {archive: "Title.\n-- steps.yaml --\n- {run: x, verdict: refuse, text: [x]}\n", want: "step 1 needs"},
		"unknown field":   {archive: "Title.\n-- steps.yaml --\n- {command: x}\n", want: `unknown field "command"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fstest.MapFS{"tour/1.txtar": {Data: []byte(test.archive)}}
			_, err := readTour(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestPlay(t *testing.T) {
	const archive = `Two commands.
-- a.yaml --
a: b
-- steps.yaml --
- {run: good, verdict: admit, text: [fine]}
- {run: bad, verdict: deny, text: [refused, why]}
`
	announced := map[string]answer{"good": {"fine\n", 0}, "bad": {"refused: why\n", 1}}
	for name, test := range map[string]struct {
		answers map[string]answer
		want    int
		tells   []string
	}{
		"as announced": {answers: announced},
		"let through": {
			answers: map[string]answer{"good": {"fine\n", 0}, "bad": {"created\n", 0}},
			want:    1,
			tells:   []string{"the verdict is admit (exit code 0), announced was deny", `"refused" is missing`, `"why" is missing`},
		},
		"refused": {
			answers: map[string]answer{"good": {"fine\n", 1}, "bad": announced["bad"]},
			want:    1,
			tells:   []string{"the verdict is deny (exit code 1), announced was admit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tour, err := readTour(fstest.MapFS{"tour/1.txtar": {Data: []byte(archive)}})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			p := &player{out: &out, dir: t.TempDir(), run: func(_ context.Context, dir, command string) (string, int, error) {
				data, err := os.ReadFile(filepath.Join(dir, "a.yaml"))
				if diff := cmp.Diff("a: b\n", string(data)); diff != "" {
					t.Errorf("a.yaml where the command runs (-want +got):\n%s", diff)
				}
				return test.answers[command].output, test.answers[command].code, err
			}}
			got, err := p.play(t.Context(), tour)
			if err != nil || got != test.want {
				t.Errorf("%d surprises (%v), want %d", got, err, test.want)
			}
			for _, text := range append(test.tells, "Two commands.", "# a.yaml\na: b\n", "$ good\nfine\n", "$ bad\n") {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in:\n%s", text, &out)
				}
			}
		})
	}
}

type answer struct {
	output string
	code   int
}
