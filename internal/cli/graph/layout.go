package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// Node is a Service port for some clients, a route, or a backend, as Mermaid and Graphviz place it.
type Node struct {
	ID string
	// Column is 0 for a Service port, 1 for a route, and 2 for a backend.
	Column int
	// Label names it in its namespace; what is in none is an answer without a backend.
	Namespace, Label string
}

// Edge leads from a Service port to a route, or from a route to a backend.
type Edge struct {
	From, To *Node
	State    validate.State
	// Text says what is wrong, or what a rule matches and how much of that goes there.
	Text string
}

// maxEdgeText is how many characters an edge says.
const maxEdgeText = 60

// draw makes the nodes and edges of the rows.
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
	connect := func(state validate.State, from, to *Node, text string) *Edge {
		edge := edges[[2]*Node{from, to}]
		if edge == nil {
			edge = &Edge{From: from, To: to, State: state, Text: text}
			edges[[2]*Node{from, to}] = edge
			g.Edges = append(g.Edges, edge)
		} else if better(state, edge.State) {
			edge.State = state
		}
		return edge
	}
	drawn := map[*Node]bool{}
	for _, row := range g.Rows {
		if row.State == Bypasses {
			kind, name, _ := strings.Cut(row.Route.Route, " ")
			namespace, name, _ := strings.Cut(name, "/")
			route := node(1, namespace, kind+" "+name)
			for _, gateway := range row.Gateways {
				connect(row.State, node(0, namespace, gateway), route, "")
			}
			connect(row.State, route, node(2, row.Service.Namespace, row.Backend()), row.text())
			continue
		}
		port := node(0, row.Service.Namespace, strings.TrimSpace(row.Port()+" "+row.Clients()))
		route := node(1, row.route.Metadata.Namespace, string(row.route.Kind)+" "+row.route.Metadata.Name)
		connect(row.State, port, route, row.text())
		again := drawn[route]
		drawn[route] = true
		for i := range row.rules {
			for j := range row.rules[i].targets {
				to := &row.rules[i].targets[j]
				namespace := to.namespace
				if namespace == "" {
					namespace = row.route.Metadata.Namespace
				}
				edge := connect(row.State, route, node(2, namespace, to.label), "")
				if text := row.rules[i].edge(to); !again && !slices.Contains(strings.Split(edge.Text, "; "), text) {
					edge.Text = strings.TrimPrefix(edge.Text+"; "+text, "; ")
				}
			}
		}
	}
	for _, edge := range g.Edges {
		edge.Text = cut(edge.Text, maxEdgeText)
	}
}

// cut returns at most so many characters of a text.
func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
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

// Clients reads "from faces" for the clients of a namespace with consumer routes, or "from Gateway shop/public"; it is empty for all others.
func (r *Row) Clients() string {
	if r.State == Bypasses {
		return r.Scope
	}
	if namespace, consumer := strings.CutPrefix(r.Scope, "consumer of "); consumer {
		return "from " + namespace
	}
	return ""
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
