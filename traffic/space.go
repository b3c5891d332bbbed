package traffic

import (
	"cmp"
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
	// paths end in "*" where they are prefixes, names begin with it where they are
	// wildcards.
	paths, names, services, methods, contents set
	// calls are the gRPC methods that are matched with their service.
	calls map[[2]string]bool
	// expressions are those on paths, and examples the regions of the paths that stand for them.
	expressions []*condition
	examples    map[string]*region
	// instead are the paths that stand for prefixes of which the plainest meets an expression.
	instead map[string]string
}

// standsFor returns a path below the prefix that is below no other one, and is not matched as a whole.
func (t *texts) standsFor(prefix string) string {
	taken := func(path string) bool { return t.paths[path] || t.paths[path+"*"] }
	switch path := t.instead[prefix]; {
	case path != "":
		return path
	case prefix == "" && !taken("/"):
		return "/"
	case prefix == "" || t.paths[prefix]:
		return fresh(prefix+"/", taken)
	}
	return prefix
}

// notGRPC marks the classes of requests that are not gRPC, where that matters.
const notGRPC = "not gRPC"

type set map[string]bool

// space cuts the requests to a port into points.
func (c *comparer) space() []*point {
	t := texts{paths: set{}, names: set{}, services: set{}, methods: set{}, contents: set{}, calls: map[[2]string]bool{}, examples: map[string]*region{}, instead: map[string]string{}}
	for i := range c.sides {
		if routes := c.sides[i].routes; routes != nil {
			for j := range routes.entries {
				c.grpc = c.grpc || routes.entries[j].route.Kind == mesh.GRPCRoute && !routes.entries[j].byPath
				c.collect(&t, routes.entries[j].conditions)
			}
		}
	}
	c.findExamples(&t)
	var points []*point
	for _, name := range serverNames(t.names) {
		at := c.request
		at.ServerName = name.at.ServerName
		paths := pathPoints(at, &t)
		for _, p := range paths {
			t.describe(p, "", p.text)
			p.plain = c.grpc
		}
		t.nest(paths)
		if c.grpc {
			t.contents[grpcContent] = true
			for _, content := range slices.Sorted(maps.Keys(t.contents)) {
				at.Headers = map[string]string{contentType: content}
				calls := callPoints(at, &t)
				t.nest(calls)
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
	var service, method string
	for i := range conditions {
		text := conditions[i].Text
		switch conditions[i].Type {
		case mesh.PathPrefix:
			text += "*"
		case mesh.Subdomain:
			text = "*" + text
			c.regular = c.regular || conditions[i].Dimension == mesh.HostDimension
		case mesh.RegularExpression:
			c.regular = true
			if conditions[i].Dimension == mesh.PathDimension {
				t.addExpression(&conditions[i])
				continue
			}
			if text = conditions[i].example(); text == "" {
				continue
			}
		}
		switch conditions[i].Dimension {
		case mesh.PathDimension:
			t.paths[text] = true
		case mesh.ServerNameDimension:
			t.names[text] = true
		case mesh.GRPCServiceDimension:
			service = text
			t.services[text] = true
		case mesh.GRPCMethodDimension:
			method = text
		case mesh.HeaderDimension:
			if conditions[i].Name == contentType && strings.HasPrefix(text, grpcContent) {
				t.contents[text] = true
			}
		}
	}
	switch {
	case service != "" && method != "":
		t.calls[[2]string{service, method}] = true
	case method != "":
		t.methods[method] = true
	}
}

func (t *texts) addExpression(c *condition) {
	if !slices.ContainsFunc(t.expressions, func(other *condition) bool { return other.Text == c.Text }) {
		t.expressions = append(t.expressions, c)
	}
}

// describe names the class of a point: that of the regular expressions if its path, or its gRPC method, stands for them.
func (t *texts) describe(p *point, kind, text string) {
	if r := t.examples[p.at.Path]; r != nil && strings.TrimPrefix(p.at.Path, "/") == strings.TrimPrefix(text, "/") {
		p.region, p.example, text = r, text, r.text
	}
	p.text = kind + text
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
func pathPoints(template Request, t *texts) []*point {
	points := map[string]*point{}
	add := func(text, path string) *point {
		p := &point{at: template, text: text}
		p.at.Path = path
		points[text] = p
		return p
	}
	root := add("/*", t.standsFor(""))
	out := []*point{root}
	for _, text := range slices.Sorted(maps.Keys(t.paths)) {
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

// callPoints returns a point for each gRPC method that is matched, and one for the
// others of each service and of none.
func callPoints(template Request, t *texts) []*point {
	methods := map[string]set{"*": {}} // by service; "*" stands for all others
	add := func(service, method string) {
		if methods[service] == nil {
			methods[service] = set{}
		}
		methods[service][method] = true
	}
	for service := range t.services {
		add(service, "*")
	}
	for call := range t.calls {
		add(call[0], call[1])
	}
	for path := range t.paths { // of an HTTPRoute on the other side
		service, method, _ := strings.Cut(strings.Trim(path, "/*"), "/")
		if service != "" && !strings.Contains(method, "/") {
			add(service, cmp.Or(method, "*"))
		}
	}
	for _, of := range methods {
		for method := range t.methods {
			of[method] = true
		}
	}
	return callTree(template, methods, t)
}

// callTree makes the points of services and their methods; "*" stands for others.
func callTree(template Request, methods map[string]set, t *texts) []*point {
	var out []*point
	named := map[[2]string]*point{}
	newPoint := func(service, method string, around ...*point) *point {
		text := service + "/" + method
		regular := !t.methods[method] && !t.calls[[2]string{service, method}]
		p := &point{at: template, text: "grpc " + text, fixed: true}
		named[[2]string{service, method}] = p
		if service == "*" {
			service = fresh("", func(name string) bool { return methods[name] != nil })
		}
		if method == "*" {
			method = fresh("", func(name string) bool {
				return slices.ContainsFunc(slices.Collect(maps.Values(methods)), func(of set) bool { return of[name] })
			})
		}
		p.at.Path, p.at.Method = "/"+service+"/"+method, "POST"
		if regular {
			t.describe(p, "grpc ", text)
		}
		for _, a := range around {
			if a != nil {
				p.putInto(a)
			}
		}
		out = append(out, p)
		return p
	}
	root := newPoint("*", "*")
	for _, service := range slices.Sorted(maps.Keys(methods)) { // "*" comes first
		around := root
		if service != "*" {
			around = newPoint(service, "*", root)
		}
		for _, method := range slices.Sorted(maps.Keys(methods[service])) {
			switch {
			case method == "*":
			case service == "*":
				newPoint(service, method, root)
			default:
				newPoint(service, method, around, named[[2]string{"*", method}])
			}
		}
	}
	return out
}
