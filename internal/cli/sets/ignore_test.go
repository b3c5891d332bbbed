package sets

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// TestComparisonsAreBounded: many patterns for many files end the search with an error.
func TestComparisonsAreBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	many := strings.Repeat(strings.Repeat("*a", 100)+"\n", 1000)
	if err := os.WriteFile(gitIgnore, []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := os.WriteFile(fmt.Sprintf("%d.yaml", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk := source.Open(&source.Options{}, []string{"."})
	for left, want := range map[int]string{10_000: "there are too many patterns for so many files", 10_000_000: ""} {
		d := newDiscovery(t.Context(), disk, "", nil)
		d.compared = maxCompared - left
		if _, err := d.find("", []string{"."}); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), gitIgnore)) {
			t.Errorf("%d left: %v", left, err)
		}
	}
}
