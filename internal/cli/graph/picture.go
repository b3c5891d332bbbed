package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// picture shows one Service on the page: its ports by clients on the left, the routes, and the backends. Lines lead
// from one column to the next, so that none crosses a box, and each begins and ends at a place of its own, so that what
// stands on them does not overlap.
type picture struct {
	ID, Name      string
	Width, Height int
	Boxes         []*box
	Lines         []*line
	Classes       []classOption

	boxes   map[string]*box
	columns [3][]*box
	routes  int
	// states are the routes by their states.
	states map[validate.State]map[string]bool
}

// box is a Service port for some clients, a route, a backend, or an answer.
type box struct {
	ID, Class, Full string
	// Labels are the lines of its text; the second part says for whom it is, or where.
	Labels        []string
	X, Y          int
	Width, Height int

	in, out []*line
	column  int
}

// line leads from one box to another. Head is its arrow, and Start and End are what stands on it.
type line struct {
	ID, Full   string
	State      validate.State
	Path, Head string
	Start, End label

	from, to *box
	// trunk is set for lines that begin together: those of one rule.
	trunk int
	// startY and endY are where it begins and ends.
	startY, endY int
}

// label is a text on a line.
type label struct {
	Text string
	X, Y int
}

// classOption is a class of requests, which can be chosen.
type classOption struct {
	Text, Outcome, Drawn string
}

// The measures of a picture, in pixels. Letters are as wide as in the widest of the usual fonts.
const (
	margin    = 16
	headRoom  = 28 // for the titles of the columns
	slot      = 20 // from one line to the next at a box
	between   = 12 // boxes
	lineOf    = 16 // of text in a box
	letter    = 7.7
	small     = 7.0 // a letter on a line
	bend      = 90  // for a line to change its height
	maxBox    = 40  // characters on a line of a box
	maxMatch  = 52  // characters of a match on a line
	shareRoom = 66
)

// pictures makes a picture of each Service, in the order of the rows.
func (g *Graph) pictures() []*picture {
	var all []*picture
	var p *picture
	for i, row := range g.Rows {
		if i == 0 || row.Service != g.Rows[i-1].Service {
			p = &picture{ID: "s" + strconv.Itoa(len(all)), Name: printable.Text(row.Service.Namespace + "/" + serviceName(row.Service)), boxes: map[string]*box{}, states: map[validate.State]map[string]bool{}}
			all = append(all, p)
		}
		row.picture = p
		p.add(row)
	}
	for _, p := range all {
		p.place()
	}
	for key, classes := range g.classes {
		for i := range g.Rows {
			if g.Rows[i].Service == key {
				g.Rows[i].picture.choose(g, key, classes)
				break
			}
		}
	}
	return all
}

// box returns the box of that name in a column.
func (p *picture) box(column int, name, class string, labels ...string) *box {
	key := strconv.Itoa(column) + " " + name
	if b := p.boxes[key]; b != nil {
		return b
	}
	b := &box{ID: fmt.Sprintf("%sn%d", p.ID, len(p.Boxes)), Class: class, column: column}
	for _, text := range labels {
		if text != "" {
			b.Labels = append(b.Labels, wrap(printable.Text(text), maxBox)...)
		}
	}
	b.Full = strings.Join(labels, " ")
	p.boxes[key] = b
	p.Boxes, p.columns[column] = append(p.Boxes, b), append(p.columns[column], b)
	return b
}

// wrap breaks a text into lines of at most so many characters, where a name allows it.
func wrap(text string, most int) (lines []string) {
	letters := []rune(text)
	for len(letters) > most {
		at := most
		for i := most; i > most/2; i-- {
			if strings.ContainsRune(" /.-", letters[i-1]) {
				at = i
				break
			}
		}
		lines, letters = append(lines, string(letters[:at])), letters[at:]
	}
	return append(lines, string(letters))
}

func (p *picture) connect(from, to *box, state validate.State, full string) *line {
	l := &line{ID: fmt.Sprintf("%se%d", p.ID, len(p.Lines)), State: state, from: from, to: to, Full: full}
	p.Lines, from.out, to.in = append(p.Lines, l), append(from.out, l), append(to.in, l)
	return l
}

// add draws a row: the line to its route, and, once, the lines of its rules.
func (p *picture) add(row *Row) {
	elsewhere := func(namespace string) string {
		if namespace == row.Service.Namespace {
			return ""
		}
		return "in " + namespace
	}
	if p.states[row.State] == nil {
		p.states[row.State] = map[string]bool{}
	}
	p.states[row.State][row.Route.Route] = true
	if row.State == Bypasses {
		p.bypass(row, elsewhere)
		return
	}
	port := p.box(0, row.Port()+" "+row.Clients(), "port", row.Port(), row.Clients())
	name := row.Route.Route
	_, known := p.boxes["1 "+name]
	labels := []string{string(row.route.Kind) + " " + row.route.Metadata.Name, elsewhere(row.route.Metadata.Namespace)}
	for i := range row.rules {
		if drops := row.rules[i].drops; drops != "" {
			labels = append(labels, row.rules[i].match+": the mesh "+drops)
		}
	}
	route := p.box(1, name, "route", labels...)
	l := p.connect(port, route, row.State, strings.Trim(port.Full+" → "+name+": "+string(row.State)+". "+row.Reason, " ."))
	l.End.Text = row.text()
	row.drawn = append(row.drawn, port.ID, route.ID, l.ID)
	if !known {
		p.routes++
		for i := range row.rules {
			r := &row.rules[i]
			for j := range r.targets {
				t := &r.targets[j]
				class := "backend"
				if t.namespace == "" {
					class = "answer"
				}
				to := p.box(2, t.name(), class, t.label, elsewhere(textOr(t.namespace, row.Service.Namespace)))
				l := p.connect(route, to, row.State, name+" "+strings.TrimSpace(r.match+" → "+t.name()+" "+t.share))
				l.trunk, l.End.Text = i, t.share
				if j == 0 {
					l.Start.Text = cut(r.match, maxMatch)
				}
			}
		}
	}
	for _, l := range route.out {
		if better(row.State, l.State) {
			l.State = row.State
		}
		row.drawn = append(row.drawn, l.ID, l.to.ID)
	}
}

// bypass draws a row of a route on Gateways: from these, by the route, to the Service as a backend.
func (p *picture) bypass(row *Row, elsewhere func(namespace string) string) {
	kind, name, _ := strings.Cut(row.Route.Route, " ")
	namespace, name, _ := strings.Cut(name, "/")
	_, known := p.boxes["1 "+row.Route.Route]
	route := p.box(1, row.Route.Route, "route", kind+" "+name, elsewhere(namespace))
	for _, gateway := range row.Gateways {
		from := p.box(0, gateway, "port", gateway)
		l := p.connect(from, route, row.State, gateway+" → "+row.Route.Route+": "+row.Reason)
		l.End.Text = row.text()
		row.drawn = append(row.drawn, from.ID, l.ID)
	}
	to := p.box(2, row.Service.Namespace+"/"+row.Backend(), "backend", row.Backend())
	l := p.connect(route, to, row.State, row.Route.Route+" → "+row.Service.Namespace+"/"+row.Backend())
	row.drawn = append(row.drawn, route.ID, l.ID, to.ID)
	if !known {
		p.routes++
	}
}

func textOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// choose offers the classes of requests, each with what shows it.
func (p *picture) choose(g *Graph, key mesh.ServiceKey, classes []traffic.RequestClass) {
	for i := range classes {
		class := &classes[i]
		option := classOption{Text: fmt.Sprintf("port %d, %s", class.Witness.Port, &class.Class), Outcome: class.Outcome.Text(key.Namespace)}
		var drawn []string
		for _, row := range g.Rows {
			from := strings.TrimPrefix(row.Clients(), "from ")
			if row.Service != key || row.Route.Port != class.Witness.Port || from != class.Class.From || !row.State.InEffect() {
				continue
			}
			if class.Chosen == nil {
				drawn = append(drawn, row.drawn[0])
			} else if class.Chosen.Route == row.Route.Route {
				drawn = append(drawn, row.drawn[:3]...)
				for _, l := range p.boxes["1 "+row.Route.Route].out {
					if l.trunk == class.Chosen.Rule {
						drawn = append(drawn, l.ID, l.to.ID)
					}
				}
			}
		}
		if option.Drawn = strings.Join(drawn, " "); option.Drawn != "" { // else it is of a port that is not drawn
			p.Classes = append(p.Classes, option)
		}
	}
}
