package printable

import (
	"fmt"
	"io"
	"strings"
)

// Layout is a text of the program itself: Sprintf and Fprintf write it as it is.
type Layout string

// Sprintf formats as fmt.Sprintf does. The format is the program's: its line breaks and
// tabs stay. The arguments are what others may have written: each is written as Text of
// it, unless it is a Layout.
func Sprintf(format string, args ...any) string {
	return fmt.Sprintf(format, quoted(args)...)
}

// Fprintf writes what Sprintf returns.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, quoted(args)...)
}

// Row writes a row of a table, in the form that text/tabwriter takes: the cells, each as
// Text of it, with tabs between.
func Row(w io.Writer, cells ...string) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Text(cell)
	}
	_, _ = io.WriteString(w, strings.Join(texts, "\t")+"\n") // a tabwriter reports errors when it is flushed
}

// value is an argument that others may have written.
type value struct{ any }

func quoted(args []any) []any {
	values := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case Layout:
			values[i] = string(arg)
		case int, int32, int64, bool:
			values[i] = arg
		default:
			values[i] = value{arg}
		}
	}
	return values
}

// Format writes the value as it would be written, quoted.
func (v value) Format(state fmt.State, verb rune) {
	if verb == 's' || verb == 'v' {
		_, _ = fmt.Fprintf(state, fmt.FormatString(state, 's'), Text(fmt.Sprint(v.any)))
		return
	}
	_, _ = io.WriteString(state, Text(fmt.Sprintf(fmt.FormatString(state, verb), v.any)))
}
