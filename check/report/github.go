package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gammaguard/gammaguard/validate"
)

// GitHub writes the report as workflow commands, which GitHub Actions shows as
// annotations at the lines of a pull request, and the summary as a plain line.
func (r *CheckReport) GitHub(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, i := range r.Items() {
		if i.Effect == validate.Off {
			continue
		}
		place := ""
		if i.File != Stdin {
			place = fmt.Sprintf("file=%s,line=%d,", property.Replace(i.File), i.Line)
		}
		fmt.Fprintf(out, "::%s %stitle=%s::%s\n", levels[i.Effect].github, place, property.Replace(i.ID), data.Replace(i.named()))
	}
	fmt.Fprintln(out, r.Summary.String())
	return out.Flush()
}

// The escapes of a workflow command's message, and of its properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
