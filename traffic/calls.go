package traffic

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// calls are the gRPC services and methods that matches look for.
type calls struct {
	services looked
	// methods are those of any service, or of services by a regular expression.
	methods looked
	// own are the methods of a service, and those of any.
	own map[string]*looked
	// exact are the methods that are matched with their service.
	exact map[[2]string]bool
}

func newCalls() calls {
	return calls{services: newLooked(aServiceName), methods: newLooked(aMethodName), own: map[string]*looked{}, exact: map[[2]string]bool{}}
}

// add adds what a match looks for; a condition is nil where there is none.
func (c *calls) add(service, method *condition) {
	of := &c.methods
	if service != nil {
		service = service.literally()
		if c.services.add(service); service.Type == mesh.Exact && method != nil {
			of = c.of(service.Text)
		}
	}
	if method == nil {
		return
	}
	if method = method.literally(); method.Type == mesh.Exact && of != &c.methods {
		c.exact[[2]string{service.Text, method.Text}] = true
	}
	of.add(method)
}

// of returns the methods of a service that is looked for by its name.
func (c *calls) of(service string) *looked {
	if c.own[service] == nil {
		own := newLooked(aMethodName)
		c.own[service] = &own
	}
	return c.own[service]
}

// addPaths adds the calls of paths that an HTTPRoute of the port looks for.
func (c *calls) addPaths(paths set) {
	for path := range paths {
		service, method, _ := strings.Cut(strings.Trim(path, "/*"), "/")
		if service == "" || strings.Contains(method, "/") {
			continue
		}
		if c.services.texts[service] = true; method != "" {
			c.of(service).texts[method] = true
		}
	}
}

// findExamples finds what stands for the regular expressions.
func (c *calls) findExamples(with *comparer) {
	with.findExamples(&c.services)
	with.findExamples(&c.methods)
	for _, service := range slices.Sorted(maps.Keys(c.own)) {
		own := c.own[service]
		maps.Copy(own.texts, c.methods.texts)
		for _, expression := range c.methods.expressions {
			own.add(expression)
		}
		with.findExamples(own)
	}
}

// callName is a service or a method that points stand for.
type callName struct {
	// text is "*" for all others, or "~ Get.*", and at is one.
	text, at string
	// around are the texts of those around it.
	around []string
	// region is set for that of regular expressions.
	region bool
}

// callNames are the names of services, or of the methods of one.
type callNames struct {
	*looked
	// regions are the wider ones first.
	regions []*region
	all     []callName
}

// names returns the names that points stand for: all others, regions, and those that are matched as a whole. Those around one are before it.
func (l *looked) names() *callNames {
	regions := slices.SortedFunc(maps.Values(l.examples), func(a, b *region) int {
		return cmp.Or(len(a.meets)-len(b.meets), strings.Compare(a.path, b.path))
	})
	others := l.standsFor("")
	met := l.met(others) // by all names, where they can
	regions = slices.DeleteFunc(regions, func(r *region) bool { return slices.Equal(r.meets, met) })
	n := &callNames{looked: l, regions: regions, all: []callName{{text: "*", at: others}}}
	for i, r := range regions {
		n.all = append(n.all, callName{text: r.text, at: r.path, around: orOthers(narrowest(regions[:i], r.meets)), region: true})
	}
	for _, text := range slices.Sorted(maps.Keys(l.texts)) {
		if l.examples[text] == nil {
			n.all = append(n.all, callName{text: text, at: text, around: orOthers(n.around(text))})
		}
	}
	return n
}

// around returns the narrowest regions that have the name.
func (n *callNames) around(name string) []string { return narrowest(n.regions, n.met(name)) }

// narrowest returns the narrowest of the regions that have what meets these expressions.
func narrowest(regions []*region, meets []int) (texts []string) {
	var found []*region
	for _, r := range regions {
		if subset(r.meets, meets) {
			found = append(slices.DeleteFunc(found, func(wider *region) bool { return subset(wider.meets, r.meets) }), r)
		}
	}
	for _, r := range found {
		texts = append(texts, r.text)
	}
	return texts
}

// orOthers returns the regions, or what stands for all others.
func orOthers(regions []string) []string {
	if len(regions) == 0 {
		return []string{"*"}
	}
	return regions
}

// callPoints returns a point for each gRPC method that is matched, and one for the others of each service and of none.
func callPoints(template Request, t *texts) []*point {
	var points []*point
	named, methodsOf, common := map[[2]string]*point{}, map[string]*callNames{}, t.calls.methods.names()
	services := t.calls.services.names()
	for i := range services.all {
		service := &services.all[i]
		methods := common
		if own := t.calls.own[service.text]; own != nil && !service.region {
			methods = own.names()
		}
		methodsOf[service.text] = methods
		for j := range methods.all {
			method := &methods.all[j]
			p := &point{at: template, text: "grpc " + service.text + "/" + method.text, fixed: true}
			p.at.Path, p.at.Method = "/"+service.at+"/"+method.at, "POST"
			switch {
			case service.region || method.region:
				p.example = service.at + "/" + method.at
			case !t.calls.exact[[2]string{service.text, method.text}] && !t.calls.methods.texts[method.text]:
				t.paths.describe(p, "grpc ", service.text+"/"+method.text)
			}
			for _, text := range method.around {
				p.putInto(named[[2]string{service.text, text}])
			}
			for _, text := range service.around {
				around := []string{method.text}
				if named[[2]string{text, method.text}] == nil {
					around = methodsOf[text].around(method.at)
				}
				for _, name := range around {
					p.putInto(named[[2]string{text, name}])
				}
			}
			named[[2]string{service.text, method.text}] = p
			points = append(points, p)
		}
	}
	return points
}
