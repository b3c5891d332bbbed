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
	// moreWarnings is reserved for the count of those that do not fit.
	moreWarnings = 32
)

// warnings returns the warnings for the author, in addition to the verdict; the last are
// about the changes in the traffic.
func warnings(verdict *validate.Verdict, changes []string) []string {
	all := make([]string, 0, len(verdict.Findings)+len(verdict.UnknownIgnores)+len(changes))
	for f := range verdict.Answered() {
		if f.Effect == validate.Warn {
			all = append(all, warning(f.Warning(), f.Rule))
		}
	}
	for _, name := range verdict.UnknownIgnores {
		all = append(all, warning(validate.UnknownIgnore(name), ""))
	}
	return bounded(append(all, changes...))
}

// warning makes a text fit to be one warning: a line that only shows, which a header can
// hold, and cut if it is too long, except for the rule at its end, if any.
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
	kept := []rune(strings.TrimSuffix(text, ending))
	return string(kept[:maxWarning-len(gap)-utf8.RuneCountInString(ending)]) + gap + ending
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
