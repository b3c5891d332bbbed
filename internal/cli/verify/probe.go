package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// maxProbes is how many requests are made for the clients of a namespace at a port. Beyond it, each match has
// one of its own alone, at each path that it holds for.
const maxProbes = 50_000

// prober makes requests.
type prober struct {
	template traffic.Request
	grpc     bool
	paths    map[string]bool
	calls    map[string]bool
	// wanted are the conditions of each match on all but the path, each list once.
	wanted  [][]mesh.Condition
	methods map[string]bool
}

const (
	contentType = "content-type"
	grpcContent = "application/grpc"
)

// probes returns the requests, and whether they tell apart each pair of matches.
func probes(template traffic.Request, matches [][]mesh.Condition) (requests []traffic.Request, complete bool) {
	p := &prober{template: template, paths: map[string]bool{"/": true}, calls: map[string]bool{}, methods: map[string]bool{}}
	seen := map[string]bool{}
	for _, conditions := range append([][]mesh.Condition{nil}, matches...) {
		free := p.collect(conditions)
		if key := textOf(free); !seen[key] {
			seen[key] = true
			p.wanted = append(p.wanted, free)
		}
	}
	p.beside()
	return p.requests()
}

// collect notes what a match looks for, and returns its conditions on all but the path.
func (p *prober) collect(conditions []mesh.Condition) (free []mesh.Condition) {
	var service, method string
	for _, c := range conditions {
		switch c.Dimension {
		case mesh.PathDimension:
			p.path(c)
			continue
		case mesh.GRPCServiceDimension:
			service = traffic.Example(c)
			continue
		case mesh.GRPCMethodDimension:
			method = traffic.Example(c)
			continue
		case mesh.MethodDimension:
			p.methods[c.Text] = true
		case mesh.HeaderDimension:
			p.grpc = p.grpc || c.Name == contentType && strings.HasPrefix(c.Text, grpcContent)
		case mesh.QueryParamDimension, mesh.HostDimension, mesh.ServerNameDimension:
		}
		free = append(free, c)
	}
	if service != "" || method != "" {
		p.grpc = true
		if service == "" {
			service = "x.X"
		}
		p.calls["/"+service+"/X"] = true
		if method != "" {
			p.calls["/"+service+"/"+method] = true
			p.calls["/x.X/"+method] = true
		}
	}
	return free
}

// path adds the path of a condition, and those beside it that it may or may not hold for.
func (p *prober) path(c mesh.Condition) {
	text := traffic.Example(c)
	if !strings.HasPrefix(text, "/") {
		return
	}
	p.paths[text], p.paths[text+"x"] = true, true
	p.paths[strings.TrimRight(text, "/")+"/x"] = true
	if c.Type != mesh.Exact {
		p.paths[strings.TrimRight(text, "/")+"/"] = true
	}
}

// beside adds what no match looks for.
func (p *prober) beside() {
	p.paths["/x"] = true
	if !p.grpc {
		return
	}
	p.calls["/x.X/X"] = true
	for path := range p.paths {
		if service, method, two := strings.Cut(path[1:], "/"); two && service != "" && method != "" && !strings.Contains(method, "/") {
			p.calls[path] = true
		}
	}
}

// requests returns the requests for each path, with what each pair of matches asks for.
func (p *prober) requests() (out []traffic.Request, complete bool) {
	places := len(p.paths) + len(p.calls)
	complete = places*len(p.wanted)*(len(p.wanted)+1)/2 <= maxProbes
	seen := map[string]bool{}
	add := func(r traffic.Request, wanted ...[]mesh.Condition) {
		if !p.fill(&r, slices.Concat(wanted...)) {
			return
		}
		if key := r.String(); !seen[key] && len(out) < maxProbes {
			seen[key] = true
			out = append(out, r)
		}
	}
	for _, path := range slices.Concat(slices.Sorted(maps.Keys(p.paths)), slices.Sorted(maps.Keys(p.calls))) {
		for i, a := range p.wanted {
			others := p.wanted[i:]
			if !complete {
				others = others[:1]
			}
			for _, b := range others {
				r := p.template
				r.Path = path
				if !p.calls[path] || p.paths[path] {
					add(r, a, b)
				}
				if p.calls[path] {
					r.Method = "POST"
					r.Headers = map[string]string{contentType: grpcContent}
					add(r, a, b)
				}
			}
		}
	}
	return out, complete
}

// fill gives a request what conditions ask for, and reports whether they agree.
func (p *prober) fill(r *traffic.Request, conditions []mesh.Condition) bool {
	r.Headers, r.Query = maps.Clone(r.Headers), nil
	for _, c := range conditions {
		value, at := traffic.Example(c), &r.Headers
		switch c.Dimension {
		case mesh.MethodDimension:
			if r.Method != "" && r.Method != value {
				return false
			}
			r.Method = value
			continue
		case mesh.HostDimension:
			if c.Type == mesh.Subdomain {
				value = "x" + c.Text
			}
			if r.Host != "" && r.Host != value {
				return false
			}
			r.Host = value
			continue
		case mesh.QueryParamDimension:
			at = &r.Query
		case mesh.HeaderDimension:
		case mesh.PathDimension, mesh.GRPCServiceDimension, mesh.GRPCMethodDimension, mesh.ServerNameDimension:
			continue
		}
		if *at == nil {
			*at = map[string]string{}
		}
		switch have, ok := (*at)[c.Name]; {
		case !ok, c.Type == mesh.Exact:
			if ok && have != value && !p.same(have, value, c, conditions) {
				return false
			}
			(*at)[c.Name] = value
		}
	}
	if r.Method == "" {
		r.Method = p.otherMethod()
	}
	return true
}

// same reports whether a value may take the place of one that is there: that is not one that another condition
// wants exactly.
func (p *prober) same(have, value string, c mesh.Condition, conditions []mesh.Condition) bool {
	return have == value || !slices.ContainsFunc(conditions, func(other mesh.Condition) bool {
		return other.Subject == c.Subject && other.Type == mesh.Exact && other.Text == have
	})
}

// otherMethod returns a method that no match looks for, if there is one.
func (p *prober) otherMethod() string {
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"} {
		if !p.methods[method] {
			return method
		}
	}
	return "TRACE"
}

// textOf is equal for equal conditions.
func textOf(conditions []mesh.Condition) string {
	var out strings.Builder
	for _, c := range conditions {
		for _, text := range []string{string(c.Dimension), c.Name, string(c.Type), c.Text} {
			out.WriteString(text)
			out.WriteByte(0)
		}
	}
	return out.String()
}
