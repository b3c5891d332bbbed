package check

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

// TestComparisonsAreBounded: many patterns for many files end the search, and a chart, with an error.
func TestComparisonsAreBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	many := strings.Repeat(strings.Repeat("*a", 100)+"\n", 1000)
	for name, text := range map[string]string{gitIgnore: many, ".helmignore": many} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		if err := os.WriteFile(fmt.Sprintf("%d.yaml", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := &Options{files: repository.New("", ".")}
	for left, want := range map[int]string{10_000: "there are too many patterns for so many files", 10_000_000: ""} {
		d := newDiscovery(t.Context(), options, nil)
		d.compared = maxCompared - left
		_, search := d.find([]string{"."})
		_, chart := (&chartReader{options: options, folder: ".", compared: maxHelmCompared - left}).all()
		for by, err := range map[string]error{gitIgnore: search, ".helmignore": chart} {
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), by)) {
				t.Errorf("%d left, %s: %v", left, by, err)
			}
		}
	}
}
