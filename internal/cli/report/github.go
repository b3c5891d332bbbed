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
	for _, s := range r.Skipped {
		if s.Hides {
			annotate(out, "warning", "not-checked", s.Path, "not checked: "+s.Reason)
		}
	}
	for _, n := range r.Notices {
		annotate(out, "notice", "note", n.Path, n.Message)
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
		place := ""
		if i.File != Stdin {
			place = fmt.Sprintf("file=%s,line=%d,", property.Replace(printable.Text(i.File)), i.Line)
		}
		command := fmt.Sprintf("::%s %stitle=%s::", levels[i.Effect].github, place, property.Replace(i.ID))
		printable.Fprintf(out, "%s%s\n", printable.Layout(command), data.Replace(i.named()))
	}
}

// annotate writes the command for what is about a file as a whole.
func annotate(out io.Writer, command, title, path, message string) {
	place := ""
	if path != Stdin {
		place = fmt.Sprintf("file=%s,line=1,", property.Replace(printable.Text(path)))
	}
	printable.Fprintf(out, "%s%s\n", printable.Layout(fmt.Sprintf("::%s %stitle=%s::", command, place, title)), data.Replace(printable.Text(message)))
}

// The escapes of a workflow command's message, and of its properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
