package expect

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Write returns the text of a file with a test for each class of requests to the Services with routes in the input,
// how many there are, and what it left out. All of them pass by the same input. The file is for the mesh, if it is not empty.
func Write(input *check.Options, now *check.Traffic, name, meshName string) (text []byte, tests int, notes []string, err error) {
	classes, missing, err := now.Classes()
	if err != nil {
		return nil, 0, nil, err
	}
	for _, service := range missing {
		notes = append(notes, service+" is not in the input: there is no test for it")
	}
	f := &File{APIVersion: report.APIVersion, Kind: Kind, Input: named(input, filepath.Dir(name))}
	switch _, err := sets.NamedBy(input.Root, name, "input", f.Input); {
	case err != nil && name == source.Stdin: // it is standard output: who reads it decides where it goes
		f.Input = nil
		notes = append(notes, "the tests do not name the manifests, which are outside the working directory: name them with -f, -k, or --helm")
	case err != nil:
		return nil, 0, nil, fmt.Errorf("%s cannot name the manifests: %w", name, err)
	}
	if name != source.Stdin && beside(input, filepath.Dir(name)) {
		notes = append(notes, "no cluster has the kind "+Kind+": to run kubectl apply -f on the directory of these manifests, move the tests to another one, "+
			"and name the manifests there, in the field input or with -f")
	}
	names, met, unmet := map[string]int{}, map[string]bool{}, map[string]string{}
	for i := range classes {
		t := Test{Request: requestOf(&classes[i].Witness)}
		if problems := t.Request.parse(); len(problems) > 0 {
			notes = append(notes, fmt.Sprintf("there is no test for %s: %s", &classes[i].Witness, strings.Join(problems, "; ")))
			continue
		}
		trace, err := now.Trace(t.Request.parsed)
		if err != nil {
			return nil, 0, nil, err
		}
		if trace.Chosen != nil {
			met[trace.Chosen.Route] = true
		}
		for _, miss := range trace.NotTaken {
			held := trace.RouteKind != "" && !strings.HasPrefix(miss.Route, string(trace.RouteKind)+" ") // by another kind
			if unmet[miss.Route] == "" && miss.Rule == nil && !held {
				unmet[miss.Route] = miss.Reason
			}
		}
		if meshName != "" {
			t.Meshes = []string{meshName}
		}
		t.Name = nameOf(&classes[i], names)
		t.Expect = expectationOf(trace)
		f.Tests = append(f.Tests, t)
	}
	for _, route := range slices.Sorted(maps.Keys(unmet)) {
		if !met[route] {
			notes = append(notes, "no test meets "+route+": "+unmet[route])
		}
	}
	switch {
	case len(f.Tests) == 0 && len(missing) > 0:
		return nil, 0, nil, fmt.Errorf("there is nothing to test: these Services of routes are not in the input: %s; add them to it", strings.Join(missing, ", "))
	case len(f.Tests) == 0:
		return nil, 0, nil, errors.New("there are no routes on Services in the input, so there is nothing to test")
	case len(f.Tests) > maxTests:
		return nil, 0, nil, fmt.Errorf("there would be %d tests, which is more than %d; name fewer manifests", len(f.Tests), maxTests)
	}
	text, err = f.marshal()
	return text, len(f.Tests), notes, err
}

// relative returns the path as it is from the folder, if there is a way.
func relative(folder, path string) string {
	from, errFrom := filepath.Abs(folder)
	to, errTo := filepath.Abs(path)
	if short, err := filepath.Rel(from, to); errFrom == nil && errTo == nil && err == nil {
		path = short
	}
	return filepath.ToSlash(path)
}

// beside reports whether manifests of the input are in the folder.
func beside(input *check.Options, folder string) bool {
	return slices.ContainsFunc(input.Files, func(file string) bool {
		at := relative(folder, file)
		return file != source.Stdin && (at == "." || !strings.Contains(at, "/") && source.IsManifest(at))
	})
}

// named returns the input of the file of tests in a folder; nil where it is the folder itself, or is not in files.
func named(input *check.Options, folder string) *sets.ProjectSet {
	set := &sets.ProjectSet{}
	for _, file := range input.Files {
		if file == source.Stdin {
			return nil
		}
		set.Files = append(set.Files, relative(folder, file))
	}
	for _, path := range input.Kustomizations {
		set.Kustomization = relative(folder, path)
	}
	for i := range input.Charts {
		set.Chart = relative(folder, input.Charts[i].Path)
		for _, values := range input.Charts[i].Values {
			set.Values = append(set.Values, relative(folder, values))
		}
	}
	if len(set.Files) == 1 && set.Files[0] == "." && set.Kustomization == "" && set.Chart == "" {
		return nil
	}
	return set
}

// requestOf returns a request as a file has it.
func requestOf(r *traffic.Request) Request {
	out := Request{Service: r.Service.Namespace + "/" + r.Service.Name, Port: r.Port, Method: r.Method, Path: r.Path, ServerName: r.ServerName}
	if r.Service.Kind == mesh.ServiceImportKind {
		out.Service, out.ServiceImport = "", out.Service
	}
	if r.Protocol == mesh.UDP {
		out.Protocol = string(r.Protocol)
	}
	if r.From != r.Service.Namespace {
		out.From = r.From
	}
	if out.Path == "/" {
		out.Path = ""
	}
	headers := maps.Clone(r.Headers)
	if call := strings.TrimPrefix(r.Path, "/"); headers["content-type"] == "application/grpc" && strings.Count(call, "/") == 1 && !strings.HasPrefix(call, "/") && !strings.HasSuffix(call, "/") {
		delete(headers, "content-type")
		out.GRPC, out.Method, out.Path = call, "", ""
	}
	if r.Host != "" {
		if headers == nil {
			headers = map[string]string{}
		}
		headers["host"] = r.Host
	}
	if len(headers) > 0 {
		out.Headers = headers
	}
	if len(r.Query) > 0 {
		query := url.Values{}
		for name, value := range r.Query {
			query.Set(name, value)
		}
		out.Path = textOr(out.Path, "/") + "?" + query.Encode()
	}
	return out
}

// nameOf names the test of a class: "shop/cart:80 POST /v2* tenant=gold".
func nameOf(class *traffic.RequestClass, names map[string]int) string {
	service := class.Witness.Service
	name := printable.Shortened(printable.Text(fmt.Sprintf("%s/%s:%d %s", service.Namespace, service.Name, class.Witness.Port, &class.Class)))
	if class.Chosen == nil {
		name += ", no match"
	}
	names[name]++
	if n := names[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}

// expectationOf returns the expectation that what the request meets is met.
func expectationOf(trace *traffic.Trace) Expect {
	namespace, got := trace.Request.Service.Namespace, &trace.Outcome
	effects := got.Effects
	effects.Redirect = nil
	effects.Mirrors = nil
	for _, m := range got.Mirrors {
		m.Problem = ""
		effects.Mirrors = append(effects.Mirrors, m)
	}
	e := Expect{Effects: &effects}
	if trace.Chosen != nil {
		e.Route = trace.Chosen.Route
	}
	if r := got.Redirect; r != nil {
		e.Redirect = &Redirect{Status: r.Status, Location: r.Location(&trace.Request)}
		return e
	}
	shares := got.Answers()
	total := int64(1) // the least common multiple, which is at most the sum of the weights
	for i := range shares {
		total *= big.NewRat(shares[i].Of, total).Num().Int64()
	}
	for i := range shares {
		s := &shares[i]
		share := Share{Backend: shortName(s.Backend, namespace), Status: Status(s.Answer), Weight: s.Parts * (total / s.Of)}
		if effectsKey(&s.Effects, "") != effectsKey(&traffic.Effects{}, "") {
			of := s.Effects
			share.Effects = &of
		}
		e.Shares = append(e.Shares, share)
	}
	if len(e.Shares) == 1 && e.Shares[0].Effects == nil {
		e.Backend, e.Status, e.Shares = e.Shares[0].Backend, e.Shares[0].Status, nil
	}
	return e
}

// shortName returns the name of a backend as seen from a namespace: the opposite of backendName.
func shortName(name, namespace string) string {
	short, found := strings.CutPrefix(name, mesh.ServiceKind+" ")
	if !found {
		return name
	}
	return strings.TrimPrefix(short, namespace+"/")
}
