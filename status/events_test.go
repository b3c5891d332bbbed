package status

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/hostile"
)

// TestEventsOnlyShow: the note of an Event is a line that only shows.
func TestEventsOnlyShow(t *testing.T) {
	note := shorten(hostile.Text)
	if err := hostile.Check("text", note); err != nil || strings.ContainsAny(note, "\n\t") {
		t.Errorf("%v: %q", err, note)
	}
}
