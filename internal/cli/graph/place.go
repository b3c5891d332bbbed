package graph

import (
	"cmp"
	"fmt"
	"slices"
)

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
