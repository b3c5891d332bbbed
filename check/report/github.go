package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// GitHub writes the report as workflow commands, which GitHub Actions shows as
// annotations at the lines of a pull request, and the summary as a plain line.
func (r *CheckReport) GitHub(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, i := range r.items() {
		if i.effect == EffectOff {
			continue
		}
		text := i.text
		if i.object != "" {
			text = i.object + ": " + text
		}
		fmt.Fprintf(out, "::%s file=%s,line=%d,title=%s::%s\n",
			command(i.effect), property.Replace(i.File), i.Line, property.Replace(i.id), data.Replace(text))
	}
	fmt.Fprintln(out, r.Summary.String())
	return out.Flush()
}

// command returns the workflow command for the effect.
func command(effect Effect) string {
	switch effect {
	case EffectDeny:
		return "error"
	case EffectWarn:
		return "warning"
	case EffectAudit, EffectUnknown, EffectOff:
	}
	return "notice"
}

// The escapes of a workflow command's message, and of its properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
