package lsp_test

import (
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gammaguard/gammaguard/test/hostile"
)

// TestHostileText: what others wrote only shows in diagnostics and quick fixes.
func TestHostileText(t *testing.T) {
	e := open(t, map[string]string{"hostile.yaml": hostile.Manifests("shop", "cart2", hostile.Text)})
	var found []protocol.Diagnostic
	for deadline := time.After(timeout); len(found) == 0; {
		select {
		case params := <-e.client.published:
			found = params.Diagnostics
		case <-deadline:
			t.Fatal("no diagnostics")
		}
	}
	quoted := 0
	for _, d := range found {
		text := string(d.Message.(protocol.String))
		if err := hostile.Check("text", text); err != nil || strings.Contains(text, "\n") {
			t.Errorf("%q: %v", text, err)
		}
		quoted += strings.Count(text, `\x1b]0;pwned`)
	}
	if quoted == 0 {
		t.Errorf("nothing of the others' text in %v", found)
	}
}
