package traffic

import (
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// point stands for the requests that no match on either side tells apart by their
// path, gRPC method or server name.
type point struct {
	// at has that path, method or server name.
	at Request
	// text names the class: "/v2*", "grpc a.B/Do". It is empty for all connections.
	text string
	// region is that of the regular expressions for which the point stands, and example its path or gRPC method.
	region  *region
	example string
	// parents are the classes around it: of /v2/x it is /v2*.
	parents, children []*point
	// fixed: the method and the content type are those of at.
	fixed bool
	// plain: the content type is not that of gRPC.
	plain bool

	// lists are the matches of both sides that can decide here, and cells what they
	// decide differently.
	lists [2][]reduced
	cells []cell
	// index finds cells by their change and conditions.
	index map[change]int
	// unexamined: the cells are those of witnesses, whose exceptions are not known.
	unexamined bool
	// otherMethod is one that no match at the point looks for, once it is needed.
	otherMethod string
}

// fresh is an element of a path, or a name, that no match looks for.
func fresh(prefix string, taken func(string) bool) string {
	name := prefix + "x"
	for taken(name) {
		name += "x"
	}
	return name
}

// texts are what the matches of both sides look for where requests differ.
type texts struct {
	// paths end in "*" where they are prefixes.
	paths looked
	// names of servers begin with "*" where they are wildcards.
	names, contents set
	calls           calls
}

// notGRPC marks the classes of requests that are not gRPC, where that matters.
const notGRPC = "not gRPC"

type set map[string]bool

// space cuts the requests to a port into points.
func (c *comparer) space() []*point {
	t := texts{paths: newLooked(pathCondition(mesh.PathPrefix, "")), names: set{}, contents: set{}, calls: newCalls()}
	for i := range c.sides {
		if routes := c.sides[i].routes; routes != nil {
			for j := range routes.entries {
				c.grpc = c.grpc || routes.entries[j].route.Kind == mesh.GRPCRoute && !routes.entries[j].byPath
				c.collect(&t, routes.entries[j].conditions)
			}
		}
	}
	c.findExamples(&t.paths)
	if c.grpc {
		t.calls.addPaths(t.paths.texts)
		t.calls.findExamples(c)
	}
	var points []*point
	for _, name := range serverNames(t.names) {
		at := c.request
		at.ServerName = name.at.ServerName
		paths := pathPoints(at, &t.paths)
		for _, p := range paths {
			t.paths.describe(p, "", p.text)
			p.plain = c.grpc
		}
		t.paths.nest(paths)
		if c.grpc {
			t.contents[grpcContent] = true
			for _, content := range slices.Sorted(maps.Keys(t.contents)) {
				at.Headers = map[string]string{contentType: content}
				calls := callPoints(at, &t)
				t.paths.nest(calls)
				paths = append(paths, calls...)
			}
		}
		for _, p := range paths {
			p.text = strings.TrimSpace(name.text + " " + p.text)
		}
		points = append(points, paths...)
	}
	return points
}

// collect records what a match looks for.
func (c *comparer) collect(t *texts, conditions []condition) {
	var service, method *condition
	for i := range conditions {
		this := &conditions[i]
		c.regular = c.regular || this.Type == mesh.RegularExpression || this.Type == mesh.Subdomain && this.Dimension == mesh.HostDimension
		switch this.Dimension {
		case mesh.PathDimension:
			t.paths.add(this)
		case mesh.ServerNameDimension:
			text := this.Text
			if this.Type == mesh.Subdomain {
				text = "*" + text
			}
			t.names[text] = true
		case mesh.GRPCServiceDimension:
			service = this
		case mesh.GRPCMethodDimension:
			method = this
		case mesh.HeaderDimension:
			text := this.Text
			if this.Name == contentType && this.Type == mesh.RegularExpression {
				text = this.example()
			}
			if this.Name == contentType && strings.HasPrefix(text, grpcContent) {
				t.contents[text] = true
			}
		}
	}
	t.calls.add(service, method)
}

// serverNames returns a point for each server name, and one for all others.
func serverNames(texts set) []*point {
	if len(texts) == 0 {
		return []*point{{}}
	}
	var points []*point
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		p := &point{text: "server name " + text}
		p.at.ServerName = text
		if under, wildcard := strings.CutPrefix(text, "*"); wildcard {
			p.at.ServerName = fresh("", func(name string) bool { return texts[name+under] || texts["*."+name+under] }) + under
		}
		points = append(points, p)
	}
	return append(points, &point{text: "other server names"})
}

// pathPoints returns a point for each path that is matched as a whole, and one for
// what is below each prefix and below none. Texts of prefixes end in "*".
func pathPoints(template Request, t *looked) []*point {
	points := map[string]*point{}
	add := func(text, path string) *point {
		p := &point{at: template, text: text}
		p.at.Path = path
		points[text] = p
		return p
	}
	root := add("/*", t.standsFor(""))
	out := []*point{root}
	for _, text := range slices.Sorted(maps.Keys(t.texts)) {
		path, isPrefix := strings.CutSuffix(text, "*")
		if isPrefix {
			path = t.standsFor(path)
		}
		out = append(out, add(text, path))
	}
	if len(out) == 1 {
		root.text = ""
	}
	for _, p := range out[1:] {
		path, isPrefix := strings.CutSuffix(p.text, "*")
		around := root
		for at := range ancestors(path) {
			if found := points[at+"*"]; found != nil && (!isPrefix || at != path) {
				around = found
				break
			}
		}
		p.putInto(around)
	}
	return out
}

func (p *point) putInto(around *point) {
	p.parents = append(p.parents, around)
	around.children = append(around.children, p)
}

// ancestors yields the prefixes that hold for the path, the longest first.
func ancestors(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for path = strings.TrimRight(path, "/"); path != ""; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
			if !yield(path) {
				return
			}
		}
	}
}
