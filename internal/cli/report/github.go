package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// GitHub writes the report as workflow commands, which GitHub Actions shows as
// annotations at the lines of a pull request, and the summary as a plain line.
func (r *CheckReport) GitHub(w io.Writer) error {
	out := bufio.NewWriter(printable.Commands(w))
	annotateItems(out, r.lines())
	for _, i := range r.unchecked() {
		annotate(out, "warning", i.ID, i.Place, i.named())
	}
	for i := range r.Notices {
		n := &r.Notices[i]
		switch {
		case n.notChecked(): // see above
		case n.Line > 0:
			annotate(out, "notice", "note", Place{n.Path, n.Line}, n.Message)
		default:
			annotate(out, "notice", "note", Place{}, n.String())
		}
	}
	printable.Fprintf(out, "%s\n", &r.Summary)
	return out.Flush()
}

// annotateItems writes a command for each item.
func annotateItems(out io.Writer, items []Item) {
	for _, i := range items {
		if i.Effect == validate.Off {
			continue
		}
		annotate(out, levels[i.Effect].github, i.ID, i.Place, i.named())
	}
}

// annotate writes a command.
func annotate(out io.Writer, command, title string, at Place, message string) {
	place := ""
	if at.File != "" && at.File != Stdin {
		place = fmt.Sprintf("file=%s,line=%d,", property.Replace(printable.Text(at.File)), at.Line)
	}
	head := fmt.Sprintf("::%s %stitle=%s::", command, place, property.Replace(title))
	printable.Fprintf(out, "%s%s\n", printable.Layout(head), data.Replace(printable.Text(message)))
}

// The escapes of a workflow command's message, and of its properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
