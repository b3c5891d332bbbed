package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOSSFuzz: the script for OSS-Fuzz builds each fuzz target of the repository, once.
func TestOSSFuzz(t *testing.T) {
	tools := t.TempDir()
	built := filepath.Join(tools, "built")
	for name, text := range map[string]string{"compile_native_go_fuzzer": `echo "$1 $2 $3" >> ` + built, "make": "exit 0"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "bash", "tools/ossfuzz/build.sh")
	run.Dir, run.Env = "../..", append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(got)
	var want []string
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".cache"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		folder := strings.TrimPrefix(filepath.Dir(path), "../../")
		for _, match := range target.FindAllSubmatch(source, -1) {
			name := string(match[1])
			want = append(want, "github.com/gammaguard/gammaguard/"+folder+" "+name+" "+strings.ReplaceAll(folder, "/", "_")+"_"+name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
