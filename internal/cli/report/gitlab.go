package report

import (
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// codeQuality is one entry of GitLab's code quality report, which is a list of them.
type codeQuality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// GitLab writes the report as a code quality report, which GitLab shows in merge
// requests.
func (r *CheckReport) GitLab(w io.Writer) error {
	return writeGitLab(w, append(r.Items(), r.unchecked()...))
}

// writeGitLab writes the items.
func writeGitLab(w io.Writer, items []Item) error {
	entries := []codeQuality{}
	for _, i := range items {
		if i.Effect == validate.Off {
			continue
		}
		entry := codeQuality{
			Description: i.named(), CheckName: i.ID, Fingerprint: i.fingerprint(), Severity: levels[i.Effect].gitlab,
		}
		entry.Location.Path, entry.Location.Lines.Begin = filepath.ToSlash(i.File), i.Line
		entries = append(entries, entry)
	}
	encoder := json.NewEncoder(printable.JSON(w))
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(entries)
}
