package source

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestComparisonsAreBounded: many patterns for many files end a chart with an error.
func TestComparisonsAreBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	many := strings.Repeat(strings.Repeat("*a", 100)+"\n", 1000)
	if err := os.WriteFile(".helmignore", []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := os.WriteFile(fmt.Sprintf("%d.yaml", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk := Open(&Options{}, []string{"."})
	for left, want := range map[int]string{10_000: "there are too many patterns for so many files", 10_000_000: ""} {
		_, err := (&chartReader{Input: disk.Input(nil), folder: ".", compared: maxHelmCompared - left}).all()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ".helmignore")) {
			t.Errorf("%d left: %v", left, err)
		}
	}
}

// TestLongPatterns: a pattern counts by its length, so that long ones end a chart as many short ones do.
func TestLongPatterns(t *testing.T) {
	for pattern, bounded := range map[string]bool{"*" + strings.Repeat("[!b]", 200): true, "*[!b]": false} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile(".helmignore", []byte(strings.Repeat(pattern+"\n", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		disk := Open(&Options{}, []string{"."})
		_, err := (&chartReader{Input: disk.Input(nil), folder: ".", compared: maxHelmCompared - 1000}).all()
		if (err != nil) != bounded {
			t.Errorf("%.20s: %v", pattern, err)
		}
	}
}
