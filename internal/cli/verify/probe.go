package verify

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// maxProbes is how many requests are made for the clients of a namespace at a port, and maxWork how many matches
// are asked for them in all. Beyond that, each match has requests of its own only.
const (
	maxProbes = 100_000
	maxWork   = 300_000_000
)

// prober makes requests.
type prober struct {
	template traffic.Request
	grpc     bool
	paths    map[string]bool
	calls    map[string]bool
	// wanted are the conditions of each match on all but the path, each list once.
	wanted [][]mesh.Condition
	// own are the requests of each match alone: its paths, and its other conditions.
	own     []ownProbe
	methods map[string]bool
}

// ownProbe is what one match alone looks for.
type ownProbe struct {
	paths []string
	grpc  bool
	free  []mesh.Condition
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
		own := p.collect(conditions)
		p.own = append(p.own, own)
		free := own.free
		if key := textOf(free); !seen[key] {
			seen[key] = true
			p.wanted = append(p.wanted, free)
		}
	}
	p.beside()
	return p.requests(min(maxProbes, maxWork/max(1, len(matches))))
}

// collect notes what a match looks for, and returns it.
func (p *prober) collect(conditions []mesh.Condition) (own ownProbe) {
	var service, method string
	for _, c := range conditions {
		switch c.Dimension {
		case mesh.PathDimension:
			own.paths = append(own.paths, p.path(c)...)
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
		own.free = append(own.free, c)
	}
	if service != "" || method != "" {
		p.grpc = true
		if service == "" {
			service = "x.X"
		}
		own.grpc, own.paths = true, []string{"/" + service + "/X"}
		if method != "" {
			own.paths = []string{"/" + service + "/" + method, "/x.X/" + method}
		}
		p.calls["/"+service+"/X"] = true
		for _, path := range own.paths {
			p.calls[path] = true
		}
	}
	if len(own.paths) == 0 {
		own.paths = []string{"/"}
	}
	return own
}

// path adds the path of a condition, and those beside it that it may or may not hold for, and returns these.
func (p *prober) path(c mesh.Condition) []string {
	text := traffic.Example(c)
	if !strings.HasPrefix(text, "/") {
		return nil
	}
	all := []string{text, text + "x", strings.TrimRight(text, "/") + "/x"}
	if c.Type != mesh.Exact {
		all = append(all, strings.TrimRight(text, "/")+"/")
	}
	for _, path := range all {
		p.paths[path] = true
	}
	return all
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

// requests returns at most so many requests: for each path, with what each pair of matches asks for, or, where these
// are too many, for each match alone.
func (p *prober) requests(most int) (out []traffic.Request, complete bool) {
	seen := map[string]bool{}
	add := func(path string, grpc bool, wanted ...[]mesh.Condition) {
		r := p.template
		r.Path = path
		if grpc {
			r.Method, r.Headers = http.MethodPost, map[string]string{contentType: grpcContent}
		}
		if len(out) == most || !p.fill(&r, slices.Concat(wanted...)) {
			return
		}
		if key := r.String(); !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	if (len(p.paths)+len(p.calls))*len(p.wanted)*(len(p.wanted)+1)/2 > most {
		for _, own := range p.own {
			for _, path := range own.paths {
				add(path, own.grpc, own.free)
			}
		}
		return out, false
	}
	for i, a := range p.wanted {
		for _, b := range p.wanted[i:] {
			for _, path := range slices.Sorted(maps.Keys(p.paths)) {
				add(path, false, a, b)
			}
			for _, path := range slices.Sorted(maps.Keys(p.calls)) {
				add(path, true, a, b)
			}
		}
	}
	return out, true
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
		if r.Method = p.otherMethod(); r.Method == http.MethodGet {
			r.Method = "" // which stands for it
		}
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
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodHead} {
		if !p.methods[method] {
			return method
		}
	}
	return http.MethodTrace
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
