package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTourIsWellFormed(t *testing.T) {
	stops, err := readTour(tourFiles)
	if err != nil {
		t.Fatal(err)
	}
	if len(stops) < 7 {
		t.Errorf("the tour has %d stops, want seven", len(stops))
	}
	for i, stop := range stops {
		if stop.announcement == "" || len(stop.steps) == 0 {
			t.Errorf("stop %d needs an announcement above the first file, and steps", i+1)
		}
		for _, step := range stop.steps {
			if step.Run == "" || step.Verdict != admit && step.Verdict != deny || len(step.Text) == 0 {
				t.Errorf("stop %d: a step needs run, text, and a verdict that is %s or %s: %+v", i+1, admit, deny, step)
			}
		}
	}
}

func TestReadTourRefuses(t *testing.T) {
	_, err := readTour(fstest.MapFS{"tour/1.txtar": {Data: []byte("Title.\n-- steps.yaml --\n- {command: x}\n")}})
	if err == nil || !strings.Contains(err.Error(), "tour/1.txtar: steps.yaml: ") || !strings.Contains(err.Error(), `unknown field "command"`) {
		t.Errorf("got %v, want an error that names the file and the unknown field", err)
	}
}

func TestPlay(t *testing.T) {
	const archive = `Two commands.
-- a.yaml --
a: b
-- steps.yaml --
- {run: cat a.yaml; exit $GOOD, verdict: admit, text: ["a: b"]}
- {run: echo $TOLD; exit $BAD, verdict: deny, text: [refused, why]}
`
	tour, err := readTour(fstest.MapFS{"tour/1.txtar": {Data: []byte(archive)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environ []string
		want    int
		tells   []string
	}{
		"as announced": {environ: []string{"GOOD=0", "BAD=1", "TOLD=refused: why"}},
		"let through": {
			environ: []string{"GOOD=0", "BAD=0", "TOLD=created"},
			want:    1,
			tells:   []string{"the verdict is admit (exit code 0), announced was deny", `"refused" is missing`, `"why" is missing`},
		},
		"refused": {
			environ: []string{"GOOD=1", "BAD=1", "TOLD=refused: why"},
			want:    1,
			tells:   []string{"the verdict is deny (exit code 1), announced was admit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := &player{out: &out, dir: t.TempDir(), environ: append(os.Environ(), test.environ...)}
			got, err := p.play(t.Context(), tour)
			if err != nil || got != test.want {
				t.Errorf("%d surprises (%v), want %d", got, err, test.want)
			}
			for _, text := range slices.Concat(test.tells, []string{"Two commands.", "# a.yaml\na: b\n", "$ cat a.yaml; exit $GOOD\na: b\n", "$ echo $TOLD"}) {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is missing in:\n%s", text, &out)
				}
			}
		})
	}
}
