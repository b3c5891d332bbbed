package webhook

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// The API server truncates longer warnings, and drops those beyond 4 KiB in total.
const (
	maxWarning     = 256 // characters
	maxAllWarnings = 4 << 10
	// maxWord is how many bytes of a word are left out rather than cut.
	maxWord = 32
	// moreWarnings is reserved for the count of those that do not fit.
	moreWarnings = 32
)

// warnings returns the warnings for the author, in addition to the verdict; the last are
// about labels and annotations, and the changes in the traffic.
func warnings(verdict *validate.Verdict, changes []string) []string {
	all := make([]string, 0, len(verdict.Findings)+len(verdict.UnknownIgnores)+len(changes))
	for f := range verdict.Answered() {
		if f.Effect == validate.Warn {
			all = append(all, warning(f.Warning(), f.Rule))
		}
	}
	for i := range verdict.UnknownIgnores {
		all = append(all, warning(verdict.UnknownIgnores[i].Warning(), validate.IgnoreAnnotationID))
	}
	return bounded(append(all, changes...))
}

// warning makes a text fit to be one warning: a line that only shows, which a header can
// hold. Of one that is too long, what comes after how to fix it is left out; it is cut, after a word,
// if it still is. The rule at its end, if any, stays.
func warning(text, rule string) string {
	text = printable.Text(text)
	if utf8.RuneCountInString(text) <= maxWarning {
		return text
	}
	const gap = "..."
	ending := " (" + rule + ")"
	if rule == "" || !strings.HasSuffix(text, ending) {
		ending = ""
	}
	text = strings.TrimSuffix(text, ending)
	room := maxWarning - utf8.RuneCountInString(ending)
	if last := strings.LastIndex(text, "; "); last > strings.Index(text, "; ") && utf8.RuneCountInString(text[:last]) <= room {
		return text[:last] + ending
	}
	kept := string([]rune(text)[:room-len(gap)])
	if space := strings.LastIndexByte(kept, ' '); space > len(kept)-maxWord {
		kept = kept[:space]
	}
	return kept + gap + ending
}

// bounded keeps the warnings under 4 KiB, and counts those that do not fit.
func bounded(all []string) []string {
	size, fit := 0, 0
	for i, text := range all {
		size += len(text)
		if size < maxAllWarnings-moreWarnings {
			fit = i + 1
		}
	}
	if size < maxAllWarnings || fit == len(all) {
		return all
	}
	return append(all[:fit:fit], fmt.Sprintf("and %d more warnings", len(all)-fit))
}
