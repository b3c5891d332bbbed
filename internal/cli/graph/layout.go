package graph

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// Node is a Service port, a route or a backend.
type Node struct {
	ID string
	// Column is 0 for a Service port, 1 for a route, and 2 for a backend.
	Column int
	// Label names it in its namespace.
	Namespace, Label string
	// X and Y are where its middle left is in the picture.
	X, Y int
	// First is set for the first of its namespace in the column.
	First bool

	// near are the nodes that it is connected to, and weight is the mean height of those
	// on its left.
	near   []*Node
	weight float64
}

// Edge leads from a Service port to a route, or from a route to a backend.
type Edge struct {
	ID       string
	From, To *Node
	State    validate.State
	// Text says what is wrong; empty if nothing is.
	Text string
}

// The measures of the picture.
const (
	nodeWidth   = 230
	columnWidth = 330
	rowHeight   = 30
	margin      = 20
)

// draw makes the nodes and edges of the rows, and places the nodes: in each column by
// namespace, and in a namespace by what they are connected to.
func (g *Graph) draw() {
	type place struct {
		column           int
		namespace, label string
	}
	nodes, edges := map[place]*Node{}, map[[2]*Node]*Edge{}
	node := func(column int, namespace, label string) *Node {
		at := place{column, namespace, label}
		if nodes[at] == nil {
			nodes[at] = &Node{ID: "n" + strconv.Itoa(len(g.Nodes)), Column: column, Namespace: printable.Text(namespace), Label: printable.Text(label)}
			g.Nodes = append(g.Nodes, nodes[at])
		}
		return nodes[at]
	}
	connect := func(row *Row, from, to *Node, text string) {
		edge := edges[[2]*Node{from, to}]
		if edge == nil {
			edge = &Edge{ID: "e" + strconv.Itoa(len(g.Edges)), From: from, To: to, State: row.State, Text: text}
			edges[[2]*Node{from, to}] = edge
			g.Edges = append(g.Edges, edge)
			from.near, to.near = append(from.near, to), append(to.near, from)
		} else if row.State.Compare(edge.State) < 0 {
			edge.State, edge.Text = row.State, text
		}
		row.edges = append(row.edges, edge)
	}
	for _, row := range g.Rows {
		if row.State == Bypasses {
			kind, name, _ := strings.Cut(row.Route.Route, " ")
			namespace, name, _ := strings.Cut(name, "/")
			route := node(1, namespace, kind+" "+name)
			for _, gateway := range row.Gateways {
				connect(row, node(0, namespace, gateway), route, "")
			}
			connect(row, route, node(2, row.Service.Namespace, row.Backend()), row.text())
			continue
		}
		port := node(0, row.Service.Namespace, row.Port())
		route := node(1, row.route.Metadata.Namespace, string(row.route.Kind)+" "+row.route.Metadata.Name)
		connect(row, port, route, row.text())
		for backend := range row.route.Backends() {
			namespace, label := backendName(backend.Ref, row.route.Metadata.Namespace)
			name := namespace + "/" + label
			if !slices.Contains(row.Backends, name) {
				row.Backends = append(row.Backends, name)
				connect(row, route, node(2, namespace, label), "")
			}
		}
	}
	g.place()
}

// Backend names the Service port as a backend in its namespace: "cart:80".
func (r *Row) Backend() string {
	if r.Route.Port == 0 {
		return serviceName(r.Service)
	}
	return serviceName(r.Service) + ":" + strconv.Itoa(int(r.Route.Port))
}

// text says in short what is wrong with the route on the port.
func (r *Row) text() string {
	if r.State.InEffect() {
		return ""
	}
	return string(r.State)
}

// place gives each node its place, column by column: in a namespace, a node is near the
// middle of those that it is connected to on its left.
func (g *Graph) place() {
	for column := range 3 {
		var here []*Node
		for _, n := range g.Nodes {
			if n.Column != column {
				continue
			}
			for _, other := range n.near {
				if other.Column < column {
					n.weight += float64(other.Y) / float64(len(n.near))
				}
			}
			here = append(here, n)
		}
		slices.SortStableFunc(here, func(a, b *Node) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.weight, b.weight))
		})
		y := 2 * margin
		for i, n := range here {
			n.First = i == 0 || here[i-1].Namespace != n.Namespace
			if n.First {
				y += rowHeight
			}
			n.X, n.Y = margin+column*columnWidth, y
			y += rowHeight
		}
	}
}

// Width and Height are the measures of the picture.
func (g *Graph) Width() int { return 2*columnWidth + nodeWidth + 2*margin }

// Height is as Width.
func (g *Graph) Height() int {
	height := rowHeight
	for _, n := range g.Nodes {
		height = max(height, n.Y)
	}
	return height + margin + rowHeight
}

// Namespaces returns the namespaces of the nodes, by name.
func (g *Graph) Namespaces() []string {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, n.Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
