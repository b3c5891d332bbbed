package check_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/check"
	"github.com/gammaguard/gammaguard/config"
)

// TestInputIsBounded: what is named often counts as often, and the other sets are checked.
func TestInputIsBounded(t *testing.T) {
	large := append([]byte("{apiVersion: v1, kind: Service} # gateway.networking.k8s.io\n"), bytes.Repeat([]byte("#\n"), 4<<20)...)
	options := &check.Options{Config: config.Default(), ReadFile: func(path string) ([]byte, error) {
		if data, err := os.ReadFile(path); err != nil || string(data) != "large" {
			return data, err
		}
		return large, nil
	}}
	files := map[string]string{
		".gammaguard.yaml": projectHeader + "sets: [{chart: c, values: [" + strings.Repeat("large.yaml, ", 9) + "]}, {files: [l]}, {files: [m]}]\n",
		"large.yaml":       "large", "m/a.yaml": evil, "c/Chart.yaml": "{apiVersion: v2, name: c, version: 1.0.0}\n",
	}
	for i := range 9 {
		files[fmt.Sprintf("l/%d.yaml", i)] = "large"
	}
	filesIn(t, ".", files)
	project, err := check.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		paths   []string
		project *check.Project
		want    []string
	}{
		"named":      {nil, project, []string{"c with large.yaml", "l"}},
		"discovered": {[]string{"l", "m"}, nil, []string{"l"}},
	} {
		sets, _, err := check.FindSets(options, test.paths, test.project)
		if err != nil {
			t.Fatal(err)
		}
		all, err := check.RunSets(t.Context(), options, sets, nil)
		if all == nil || len(all.Routes) != 1 || err == nil {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		lines := strings.Split(err.Error(), "\n")
		for i, want := range test.want {
			if len(lines) != len(test.want) || !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "its files have more than 64 MiB") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestIgnoresAreBounded: patterns beyond the bounds are not heeded, and that is said.
func TestIgnoresAreBounded(t *testing.T) {
	many := strings.Repeat("x\n", 6_000)
	const own, unheeded = ".gammaguardignore", ": its patterns are not heeded: "
	const tooMany = "there are more than 10000 patterns"
	chart := "{apiVersion: v2, name: c, version: 1.0.0}\n"
	for name, test := range map[string]struct {
		files map[string]string
		sets  int
		want  string
	}{
		"few":        {map[string]string{".gitignore": "m\n", "n/" + own: "*\n!a.yaml\n"}, 1, ""},
		"large":      {map[string]string{own: "m\n#" + strings.Repeat("x", 1<<20)}, 2, own + unheeded + "it is larger than 1 MiB"},
		"many":       {map[string]string{own: "m\n" + many + many}, 2, own + unheeded + tooMany},
		"in all":     {map[string]string{own: many, "m/" + own: "*\n" + many}, 2, "m/" + own + unheeded + tooMany},
		"helmignore": {map[string]string{"m/Chart.yaml": chart, "m/.helmignore": many + many}, 2, ".helmignore: " + tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			test.files["m/a.yaml"], test.files["n/a.yaml"] = evil, evil
			filesIn(t, ".", test.files)
			options := &check.Options{Config: config.Default()}
			sets, skipped, err := check.FindSets(options, []string{"m", "n"}, nil)
			if err != nil || len(sets) != test.sets {
				t.Fatalf("%+v, %v", sets, err)
			}
			all, err := check.RunSets(t.Context(), options, sets, skipped)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, s := range all.Skipped {
				said = append(said, s.Path+": "+s.Reason)
			}
			for i := range all.Broken {
				said = append(said, all.Broken[i].Message)
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, test.want) || strings.Contains(got, "not heeded") && test.want == "" {
				t.Errorf("said %s", got)
			}
		})
	}
}
