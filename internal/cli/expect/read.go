package expect

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/strict"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Decode reads a file of tests. Each error names the file, the line, and the field.
func Decode(name string, text []byte) (*File, error) {
	f := &File{name: name}
	d := strict.Decode(name, text, report.APIVersion, Kind, f)
	f.line = d.Line
	if d.Alone(); d.Err() == nil {
		validateFile(d, f)
	}
	return f, d.Err()
}

// validateFile says what the fields of a file must hold.
func validateFile(d *strict.Document, f *File) {
	if len(f.Tests) == 0 {
		d.Fail("tests", "at least one test is required")
	}
	seen := map[string]bool{}
	for i := range f.Tests {
		t := &f.Tests[i]
		path := fmt.Sprintf("tests[%d]", i)
		t.line = d.Line(path)
		switch {
		case t.Name == "":
			d.Fail(path+".name", "is required")
		case len(t.Name) > maxName:
			d.Fail(path+".name", "is longer than %d bytes", maxName)
		case seen[t.Name]:
			d.Fail(path+".name", "another test has the name %q", t.Name)
		}
		seen[t.Name] = true
		for _, name := range t.Meshes {
			if err := CheckMesh(name); err != nil {
				d.Fail(path+".meshes", "%v", err)
			}
		}
		for _, problem := range t.Request.parse() {
			d.Fail(path+".request", "%s", problem)
		}
		for _, problem := range t.Expect.validate() {
			d.Fail(path+".expect", "%s", problem)
		}
	}
}

// token is the name of a header, and a method (RFC 9110, section 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// parse makes the request that package traffic takes, and returns what is wrong with it.
func (r *Request) parse() (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, printable.Sprintf(format, args...)) }
	kind, name := mesh.ServiceKind, r.Service
	if r.Service == "" {
		kind, name = mesh.ServiceImportKind, r.ServiceImport
	}
	namespace, short, found := strings.Cut(name, "/")
	if !found {
		namespace, short = "", name
	}
	p := &r.parsed
	p.Service = mesh.ServiceKey{Kind: kind, Namespace: namespace, Name: short}
	p.Port, p.Protocol, p.From, p.Method, p.ServerName = r.Port, mesh.Protocol(r.Protocol), r.From, r.Method, r.ServerName
	switch {
	case (r.Service == "") == (r.ServiceImport == ""):
		fail("one of service and serviceImport is required")
	case short == "" || strings.Contains(short, "/") || found && namespace == "":
		fail("%q: want NAMESPACE/NAME, or NAME", name)
	}
	switch {
	case r.Port == 0:
		fail("port is required")
	case r.Port < 0 || r.Port > 65535:
		fail("port: must be from 1 to 65535")
	}
	if r.Protocol != "" && p.Protocol != mesh.TCP && p.Protocol != mesh.UDP {
		fail("protocol: must be TCP or UDP")
	}
	if r.Method != "" && !token.MatchString(r.Method) {
		fail("method: %q is not a valid method", r.Method)
	}
	if r.GRPC != "" && (r.Method != "" || r.Path != "") {
		fail("grpc cannot be used with method or path")
	}
	if r.Path != "" {
		if err := p.SetPath(r.Path); err != nil {
			fail("%v", err)
		}
	}
	if r.GRPC != "" {
		if err := p.SetGRPC(r.GRPC); err != nil {
			fail("%v", err)
		}
	}
	seen := map[string]bool{}
	for name, value := range r.Headers {
		lower := strings.ToLower(name)
		switch {
		case !token.MatchString(name):
			fail("headers: %q is not a valid name of a header", name)
		case seen[lower]:
			fail("headers: %s is there twice; names are compared without regard to case", lower)
		case r.GRPC != "" && lower == "content-type":
			fail("headers: grpc sets content-type; use method and path for another one")
		default:
			if err := p.AddHeader(name + ":" + value); err != nil {
				fail("headers: %v", err)
			}
		}
		seen[lower] = true
	}
	slices.Sort(problems)
	return problems
}

// revisionName is a branch, a tag, or a commit, and its ancestors.
var revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}([~^][0-9]{0,4}){0,4}$`)

// The forms of expectations that nothing else can meet: a route, a backend that lacks its port, and a number that is no status of HTTP.
var (
	routeName    = regexp.MustCompile(`(?s)^[A-Za-z]+ .+/.+$`)
	backendAlone = regexp.MustCompile(`^([a-z0-9.-]+/)?[a-z0-9.-]+$`)
	noStatus     = regexp.MustCompile(`^([0-9]{0,2}|[06-9][0-9]{2}|[0-9]{4,})$`)
)

// validate returns what is wrong with an expectation.
func (e *Expect) validate() (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, printable.Sprintf(format, args...)) }
	given := 0
	for _, is := range []bool{e.Backend != "", e.Status != "", len(e.Shares) > 0, e.Redirect != nil, e.AsInRevision != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		fail("only one of backend, status, shares, redirect, and asInRevision can be set")
	case given == 0 && e.Route == "" && e.Effects == nil:
		fail("nothing is expected: set backend, status, shares, redirect, route, effects, or asInRevision")
	}
	backend := func(field, name string) {
		if backendAlone.MatchString(name) {
			fail("%s: %q lacks a port: want NAME:PORT, or NAMESPACE/NAME:PORT", field, name)
		}
	}
	status := func(field string, status Status) {
		if status != "" && noStatus.MatchString(string(status)) {
			fail("%s: %q is not a status of HTTP, which is from 100 to 599", field, string(status))
		}
	}
	backend("backend", e.Backend)
	status("status", e.Status)
	if e.Route != "" && !routeName.MatchString(e.Route) {
		fail("route: %q: want KIND NAMESPACE/NAME, such as HTTPRoute shop/cart", e.Route)
	}
	if e.AsInRevision != "" && !revisionName.MatchString(e.AsInRevision) {
		fail("asInRevision: %q is not a branch, a tag, or a commit", e.AsInRevision)
	}
	if e.AsInRevision != "" && (e.Route != "" || e.Effects != nil) {
		fail("asInRevision cannot be used with route or effects")
	}
	if e.Redirect != nil && *e.Redirect == (Redirect{}) {
		fail("redirect: set status, location, or both")
	}
	if e.Effects != nil && e.Effects.Redirect != nil {
		fail("effects.redirect: set redirect in place of it")
	}
	mirrors := func(path string, effects *traffic.Effects) {
		if effects == nil {
			return
		}
		for i, m := range effects.Mirrors {
			if m.Backend == "" || m.Parts != 0 && m.Of == 0 || m.Parts < 0 || m.Parts > m.Of || m.Of > maxWeight {
				fail("%seffects.mirrors[%d]: set backend, and parts and of where not all requests are copied: parts is at most of, and of at most %d", path, i, maxWeight)
			}
		}
	}
	mirrors("", e.Effects)
	for i := range e.Shares {
		s := &e.Shares[i]
		path := "shares[" + strconv.Itoa(i) + "]"
		redirects := s.Effects != nil && s.Effects.Redirect != nil
		if s.Backend != "" && s.Status != "" || s.Backend == "" && s.Status == "" && !redirects {
			fail("%s: one of backend and status is required", path)
		}
		backend(path+".backend", s.Backend)
		status(path+".status", s.Status)
		if s.Weight < 1 || s.Weight > maxWeight {
			fail("%s.weight: must be from 1 to %d", path, maxWeight)
		}
		mirrors(path+".", s.Effects)
	}
	return problems
}
