package graph

import (
	"cmp"
	"fmt"
	"slices"
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
	states  map[validate.State]int
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
			p = &picture{ID: "s" + strconv.Itoa(len(all)), Name: printable.Text(row.Service.Namespace + "/" + serviceName(row.Service)), boxes: map[string]*box{}, states: map[validate.State]int{}}
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
	p.states[row.State]++
	if row.State == Bypasses {
		p.bypass(row, elsewhere)
		return
	}
	port := p.box(0, row.Port()+" "+row.Clients(), "port", row.Port(), row.Clients())
	name := row.Route.Route
	_, known := p.boxes["1 "+name]
	route := p.box(1, name, "route", string(row.route.Kind)+" "+row.route.Metadata.Name, elsewhere(row.route.Metadata.Namespace))
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
		if row.State.Compare(l.State) < 0 {
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

// place gives each box and line its place.
func (p *picture) place() {
	var widths [3]int
	for column, boxes := range p.columns {
		for _, b := range boxes {
			for _, text := range b.Labels {
				widths[column] = max(widths[column], int(letter*float64(len([]rune(text))))+20)
			}
			b.Height = max(lineOf*len(b.Labels)+8, slot*max(slots(b.in, false), slots(b.out, true))+6)
		}
	}
	state, match, share := 24, 24, 24
	for _, l := range p.Lines {
		state = max(state, int(l.textWidth(0))+24)
		match = max(match, int(small*float64(len([]rune(l.Start.Text))))+16)
		if l.from.column == 1 && l.End.Text != "" {
			share = shareRoom
		}
	}
	lefts := [3]int{margin, margin + widths[0] + bend + state, 0}
	lefts[2] = lefts[1] + widths[1] + match + bend + share
	p.Width = lefts[2] + widths[2] + margin
	for _, column := range []int{1, 0, 2} {
		p.stack(column, lefts[column], widths[column])
	}
	for _, l := range p.Lines {
		l.draw(match, share, state)
	}
}

// textWidth is how wide the text at the end of a line from a column is.
func (l *line) textWidth(column int) float64 {
	if l.from.column != column {
		return 0
	}
	return small * float64(len([]rune(l.End.Text)))
}

// slots counts the places that lines take at a box: those of one rule begin together.
func slots(lines []*line, begin bool) int {
	if !begin {
		return len(lines)
	}
	trunks := map[int]bool{}
	for _, l := range lines {
		if l.from.column == 0 {
			return len(lines)
		}
		trunks[l.trunk] = true
	}
	return len(trunks)
}

// stack places the boxes of a column, each near the middle of what it is connected to, and then the ends of its
// lines.
func (p *picture) stack(column, x, width int) {
	boxes := p.columns[column]
	middle := func(b *box) int {
		sum, n := 0, 0
		for _, l := range slices.Concat(b.in, b.out) {
			if other := l.from; column == 2 {
				sum, n = sum+l.startY, n+1
			} else if other == b && column == 0 {
				sum, n = sum+l.to.Y+l.to.Height/2, n+1
			}
		}
		return sum / max(n, 1)
	}
	if column == 2 {
		slices.SortStableFunc(boxes, func(a, b *box) int { return cmp.Compare(middle(a), middle(b)) })
	}
	y := margin + headRoom
	for _, b := range boxes {
		b.X, b.Width = x, width
		b.Y = max(y, middle(b)-b.Height/2)
		if column == 1 {
			b.Y = y
		}
		y = b.Y + b.Height + between
		p.Height = max(p.Height, y+margin)
		b.ends()
	}
}

// ends places the ends of the lines at a box, in the order of what they lead to.
func (b *box) ends() {
	slices.SortStableFunc(b.in, func(a, c *line) int { return cmp.Compare(a.startY, c.startY) })
	at := func(i, n int) int { return b.Y + b.Height/2 + (2*i-n+1)*slot/2 }
	for i, l := range b.in {
		l.endY = at(i, len(b.in))
	}
	if b.column == 0 {
		slices.SortStableFunc(b.out, func(a, c *line) int { return cmp.Compare(a.endY, c.endY) })
	}
	n, i, last := slots(b.out, true), -1, -1
	for _, l := range b.out {
		if b.column == 0 || l.trunk != last {
			i, last = i+1, l.trunk
		}
		l.startY = at(i, n)
	}
}

// draw writes the path of a line, with the texts on it.
func (l *line) draw(match, share, state int) {
	before, after := match, share
	if l.from.column == 0 {
		before, after = 0, state
	}
	x1, x2 := l.from.X+l.from.Width, l.to.X
	a, b := x1+before, x2-after
	middle := (a + b) / 2
	l.Path = fmt.Sprintf("M%d %dH%dC%d %d %d %d %d %dH%d", x1, l.startY, a, middle, l.startY, middle, l.endY, b, l.endY, x2-1)
	l.Head = fmt.Sprintf("M%d %dL%d %dL%d %d", x2-8, l.endY-4, x2, l.endY, x2-8, l.endY+4)
	l.Start.X, l.Start.Y = x1+8, l.startY-4
	l.End.X, l.End.Y = x2-12, l.endY-4
}
