package traffic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// Text returns the effects in a line that only shows, with names as seen from the namespace; it is
// empty where there are none.
func (e *Effects) Text(namespace string) string {
	return printable.Text(near(strings.Join(e.lines(), "; "), namespace))
}

// lines returns the effects as people read them, one a line.
func (e *Effects) lines() []string {
	var out []string
	for _, h := range e.RequestHeaders {
		out = append(out, "request header "+h.String())
	}
	for _, h := range e.ResponseHeaders {
		out = append(out, "response header "+h.String())
	}
	if w := e.Rewrite; w != nil {
		if w.Host != "" {
			out = append(out, "host rewritten to "+w.Host)
		}
		if w.Path != nil {
			out = append(out, "rewritten "+w.Path.String())
		}
	}
	for _, m := range e.Mirrors {
		line := "mirrored to " + m.Backend
		if m.Parts != m.Of {
			line += " " + Percent(m.Parts, m.Of)
		}
		if m.Problem != "" {
			line += " (" + m.Problem + ")"
		}
		out = append(out, line)
	}
	if e.RequestTimeout != "" {
		out = append(out, "timeout "+e.RequestTimeout)
	}
	if e.BackendTimeout != "" {
		out = append(out, "timeout of a request to the backend "+e.BackendTimeout)
	}
	return append(out, e.Other...)
}

// String reads `x-version set to "2"`.
func (h HeaderChange) String() string {
	switch h.Action {
	case "set":
		return fmt.Sprintf("%s set to %q", h.Name, h.Value)
	case "add":
		return fmt.Sprintf("%s added %q", h.Name, h.Value)
	}
	return h.Name + " removed"
}

// String reads "redirect 302 to https, host example.org".
func (r *Redirect) String() string {
	var parts []string
	if r.Scheme != "" {
		parts = append(parts, r.Scheme)
	}
	if r.Host != "" {
		parts = append(parts, "host "+r.Host)
	}
	if r.Port != 0 {
		parts = append(parts, "port "+strconv.Itoa(int(r.Port)))
	}
	with := ""
	switch {
	case r.Path != nil && r.Path.Prefix != "":
		with = fmt.Sprintf(" with path prefix %s replaced by %s", r.Path.Prefix, shown(r.Path.Replacement))
	case r.Path != nil:
		parts = append(parts, r.Path.String())
	}
	text := "redirect " + strconv.Itoa(r.Status)
	if len(parts) > 0 {
		text += " to " + strings.Join(parts, ", ")
	}
	if r.NoQuery {
		with += ", without the query"
	}
	return text + with
}

// Percent writes a share with at most two decimals: "90 %", "33.33 %".
func Percent(parts, of int64) string {
	hundredths := (parts*10000 + of/2) / of
	text := strconv.FormatInt(hundredths/100, 10)
	if rest := hundredths % 100; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%02d", rest), "0")
	}
	if hundredths == 0 && parts > 0 {
		text = "<0.01"
	}
	return text + " %"
}
