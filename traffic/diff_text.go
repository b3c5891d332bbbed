package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Changes counts the changes.
func (d *Difference) Changes() int {
	n := 0
	for i := range d.Ports {
		n += len(d.Ports[i].Changes)
	}
	return n
}

// Empty reports whether no request is known to go somewhere else, and none may because of a regular expression that changed or
// of the age of routes.
func (d *Difference) Empty() bool { return d.Changes() == 0 && len(d.unclear()) == 0 }

// unclear says which requests may go somewhere else, and why that is not known.
func (d *Difference) unclear() (texts []string) {
	for i := range d.Expressions {
		texts = append(texts, d.Expressions[i].String())
	}
	for i := range d.Ages {
		texts = append(texts, d.Ages[i].String())
	}
	return texts
}

// notes returns all notes.
func (d *Difference) notes() []string { return append(d.unclear(), d.Notes...) }

// String writes the difference for people: a line for each change, and a summary.
func (d *Difference) String() string {
	var out strings.Builder
	for i := range d.Ports {
		port := &d.Ports[i]
		printable.Fprintf(&out, "%s\n", port.title())
		for _, row := range port.rows() {
			printable.Fprintf(&out, "  %s\n", row)
		}
		if port.WitnessesOnly {
			printable.Fprintf(&out, "  %s\n", onlyWitnesses)
		}
	}
	for _, note := range d.notes() {
		printable.Fprintf(&out, "note: %s\n", note)
	}
	printable.Fprintf(&out, "%s\n", d.summary())
	return out.String()
}

// Brief writes the changes in at most so many lines. If there are more, the last line
// counts the rest.
func (d *Difference) Brief(lines int) []string {
	var brief []string
	unclear := d.unclear()
	total := d.Changes() + len(unclear)
	full := func() bool { return len(brief) == lines-1 && total > lines }
	for i := range d.Ports {
		port := &d.Ports[i]
		for j := range port.Changes {
			if full() {
				break
			}
			columns := port.Changes[j].columns(port.Namespace)
			brief = append(brief, printable.Sprintf("%s, %s: %s → %s", port.title(), &port.Changes[j].Class, columns[2], columns[3]))
		}
	}
	for _, text := range unclear {
		if full() {
			break
		}
		brief = append(brief, printable.Text(text))
	}
	if full() {
		brief = append(brief, fmt.Sprintf("%d more changes; run gammaguard diff", total-len(brief)))
	}
	return brief
}

const onlyWitnesses = "too many matches to compare all combinations: these are examples, and there may be other changes"

// portTitle names a port of a Service; 0 is every port without routes of its own.
func portTitle(number int32) string {
	if number == 0 {
		return "other ports"
	}
	return fmt.Sprintf("port %d", number)
}

// title reads "service shop/cart port 80, producer"; it ends with "consumer" if nothing
// changes but for clients with consumer routes.
func (p *PortDifference) title() string {
	kind, name, _ := strings.Cut(p.Service, " ")
	port := portTitle(p.Port)
	if p.Protocol != "TCP" {
		port += " " + string(p.Protocol)
	}
	role := mesh.Consumer
	if slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Class.From == "" }) {
		role = mesh.Producer
	}
	title := fmt.Sprintf("%s %s %s, %s", strings.ToLower(kind), name, port, role)
	if len(p.Sets) > 0 {
		sets := p.Sets[:min(len(p.Sets), maxSets)]
		title += " (" + strings.Join(sets, ", ")
		if more := len(p.Sets) - maxSets; more > 0 {
			title += fmt.Sprintf(", and %d more", more)
		}
		title += ")"
	}
	return title
}

// maxSets is how many sets a title names.
const maxSets = 3

// rows writes the changes in aligned columns.
func (p *PortDifference) rows() []string {
	cells := make([][4]string, len(p.Changes))
	var widths [4]int
	for i := range p.Changes {
		cells[i] = p.Changes[i].columns(p.Namespace)
		for j, text := range cells[i][:3] {
			widths[j] = max(widths[j], utf8.RuneCountInString(text))
		}
	}
	rows := make([]string, len(cells))
	for i, row := range cells {
		line := ""
		for j, text := range row[:3] {
			if widths[j] > 0 {
				line += text + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)+2)
			}
		}
		rows[i] = line + "→  " + row[3]
	}
	return rows
}

// columns returns the method, the rest of the class, and what becomes of it before
// and after.
func (c *Change) columns(namespace string) [4]string {
	after := c.After.Text(namespace)
	if c.Because != "" {
		after += " (" + c.Because + ")"
	}
	return [4]string{printable.Text(c.Class.head()), printable.Text(c.Class.rest()), c.Before.Text(namespace), printable.Text(after)}
}

// rest writes the class but for the method and the client.
func (c *Class) rest() string {
	parts := slices.Clone(c.Conditions)
	if c.Where != "" {
		parts = append([]string{c.Where}, parts...)
	}
	text := strings.Join(parts, " ")
	if len(c.Except) > 0 {
		text = strings.TrimSpace(text + " (except " + strings.Join(c.Except, ", ") + ")")
	}
	return text
}

// String reads "from namespace faces: POST /v2*".
func (c *Class) String() string { return strings.TrimSpace(c.head() + " " + c.rest()) }

// head writes the client and the method, which of gRPC is always the same.
func (c *Class) head() string {
	method := c.Method
	if method == "" && !strings.HasPrefix(c.Where, "grpc ") {
		method = "any"
	}
	if c.From != "" {
		method = strings.TrimSpace("from namespace " + c.From + ": " + method)
	}
	return method
}

// summary reads "2 Services, 3 changes; 41 other request classes unchanged; 1 set not compared; 1 route left out".
func (d *Difference) summary() string {
	left, none := "", "no change"
	if d.NotCompared > 0 {
		left = "; " + count(d.NotCompared, "set", "sets") + " not compared"
	}
	if n := len(d.Dependencies); n > 0 {
		left += "; " + count(n, "dependency of a chart", "dependencies of charts") + " not compared"
	}
	if n := len(d.LeftOut); n > 0 {
		left += "; " + count(n, "route", "routes") + " left out"
	}
	if left != "" {
		none = "no change in what was compared"
	}
	var may []string
	if n := len(d.Expressions); n > 0 {
		may = append(may, count(n, "regular expression changed", "regular expressions changed"))
	}
	if n := len(d.Ages); n > 0 {
		may = append(may, count(n, "possible change", "possible changes"))
	}
	unclear := strings.Join(may, ", ")
	if len(d.Ports) == 0 {
		return fmt.Sprintf("%s; %s unchanged%s", cmp.Or(unclear, none), count(d.Unchanged, "request class", "request classes"), left)
	}
	if unclear != "" {
		unclear = ", " + unclear
	}
	var services []string
	for i := range d.Ports {
		services = append(services, d.Ports[i].Service)
	}
	slices.Sort(services)
	return fmt.Sprintf("%s, %s%s; %s unchanged%s", count(len(slices.Compact(services)), "Service", "Services"),
		count(d.Changes(), "change", "changes"), unclear, count(d.Unchanged, "other request class", "other request classes"), left)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Part is a part of a text in Markdown: lines, and what stands above them.
type Part struct {
	Head  string
	Lines []string
}

// Markdown writes the difference as a comment on a pull request: a summary, the changes of each port, and notes. What others may
// have named is code.
func (d *Difference) Markdown() (summary string, changes []Part, notes Part) {
	for i := range d.Ports {
		port := &d.Ports[i]
		part := Part{Head: printable.Sprintf("\n### %s\n", printable.Code(port.title()))}
		if port.WitnessesOnly {
			part.Head += "\n" + onlyWitnesses + "\n"
		}
		part.Head += "\n| requests | before | after | for example |\n|---|---|---|---|\n"
		for j := range port.Changes {
			change := &port.Changes[j]
			columns := change.columns(port.Namespace)
			part.Lines = append(part.Lines, printable.Sprintf("| %s | %s | %s | %s |\n", printable.Cell(change.Class.String()), printable.Cell(columns[2]), printable.Cell(columns[3]),
				printable.Cell(change.Witness.String())))
		}
		changes = append(changes, part)
	}
	for _, note := range slices.Concat(d.Failures, d.notes()) {
		notes.Lines = append(notes.Lines, printable.Sprintf("\n> %s\n", printable.Code(note)))
	}
	return d.summary(), changes, notes
}
