// Package audit judges every stored route of a cluster as if it were created now, and
// says what each namespace needs.
package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "AuditReport"

// Report is what was found.
type Report struct {
	report.TypeMeta
	// Configuration says where the configuration is from.
	Configuration string `json:"configuration"`
	// AsMode is the mode that every namespace was taken to have; empty: each its own.
	AsMode mesh.Mode `json:"asMode,omitempty"`
	// Namespaces are those with routes that gammaguard judges, by name.
	Namespaces []Namespace `json:"namespaces"`
	// Routes are those with findings, changes, or replaced parentRefs, by namespace, kind and name.
	Routes []Route `json:"routes"`
	// NotApplied are the mesh parents that no mesh accepts as they are now, in the same order.
	NotApplied []NotApplied `json:"notApplied"`
	// Notes name what of the configuration is about no namespace, and labels and annotations of namespaces that have no effect.
	Notes []string `json:"notes,omitempty"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`
}

// Namespace sums up the routes of a namespace.
type Namespace struct {
	Name string `json:"name"`
	// Mode is the mode that its routes are judged in: the default one if the user cannot read
	// the namespace.
	Mode mesh.Mode `json:"mode"`
	// Exempt reports that the configuration exempts the namespace: whatever the mode, nothing is denied.
	Exempt bool `json:"exempt,omitempty"`
	// Grant is the grant by the label of the namespace, or the default; "unknown" if the user
	// cannot read the namespace.
	Grant mesh.Grant `json:"grant"`
	// EffectiveGrant is what the namespace is granted in all, such as "all (HTTPRoute)": the kinds that
	// its annotation leaves, none if the annotation cannot be read, and what selectors of the configuration give.
	EffectiveGrant string `json:"effectiveGrant"`
	// Routes counts the routes that gammaguard judges; Denied those of them that would be
	// denied, Warned the others with warnings, and Unknown those about which not all is
	// known.
	Routes  int `json:"routes"`
	Denied  int `json:"denied"`
	Warned  int `json:"warned"`
	Unknown int `json:"unknown"`
	// Parented counts the routes with mesh parents, and Applied those of them of which a mesh
	// accepts each mesh parent.
	Parented int `json:"parented"`
	Applied  int `json:"applied"`
	// Dormant counts the routes with a parentRef that no mesh acts on. Otherwise, such a
	// parentRef counts for nothing.
	Dormant int `json:"dormant"`
	// Needs is the grant that its routes need, and Command what gives it; empty if they
	// lack none.
	Needs   mesh.Grant `json:"needs,omitempty"`
	Command string     `json:"command,omitempty"`
	// Wake are the commands that make dormant routes live, in the order in which they are to
	// be run: the grant that these need first, if it is missing. A comment stands for a route
	// that a controller writes: it names the owner, which is to be corrected instead.
	Wake []string `json:"wake,omitempty"`
}

// Route is the judgment on one route.
type Route struct {
	report.RouteName
	Verdict report.Verdict `json:"verdict"`
	// Findings are sorted by field path. Those of a route that lacks a grant are the
	// missing grant, and then what would be found if it were given.
	Findings []report.Finding `json:"findings"`
	// Dormant are the parentRefs that no mesh acts on.
	Dormant []Dormant `json:"dormant,omitempty"`
	// Replaced are the parentRefs that do not apply to the clients of some namespaces.
	Replaced []Replaced `json:"replaced,omitempty"`
	// Changes are what mutations set, and Withheld what they would set.
	Changes  []report.Change `json:"changes"`
	Withheld []report.Change `json:"withheld,omitempty"`

	plan mutate.Plan
}

// Options say by what the routes are judged.
type Options struct {
	Config *config.GuardConfiguration
	// AsMode is a mode to take every namespace to have; empty: each its own.
	AsMode mesh.Mode
	// Own are the controllers whose entries in status are gammaguard's.
	Own []string
	// Only is the one route to judge, which is among the others; nil: all.
	Only *mesh.Route
}

// auditor judges the routes.
type auditor struct {
	creation.Judge
	world mesh.Reader
	book  *answers.Book
	// replaced is what is replaced of producer routes, by their names.
	replaced map[string][]Replaced
}

// Run judges the routes, which are stored in the cluster.
func Run(cluster check.Cluster, routes []*manifest.Object, options *Options) (*Report, error) {
	policy := options.Config.Policy()
	policy.Mode = cmp.Or(options.AsMode, policy.Mode)
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	stored, err := check.NewStored(cluster, routes, policy.Mesh)
	if err != nil {
		return nil, err
	}
	a := &auditor{creation.Judge{Engine: engine, Off: options.Config.DisabledMutations()}, stored, answers.Read(routes, options.Own), nil}
	if options.AsMode != "" {
		a.world = asMode(stored, options.AsMode)
	}
	r := &Report{TypeMeta: report.Typed(Kind), AsMode: options.AsMode, Namespaces: []Namespace{}, Routes: []Route{}, NotApplied: []NotApplied{}}
	byNamespace := a.byNamespace(routes, options.Only)
	if a.replaced, err = a.replacedRoutes(byNamespace); err != nil {
		return nil, err
	}
	for namespace, routes := range byNamespace {
		if err := a.namespace(r, namespace, routes); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Namespaces, func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Routes, func(a, b Route) int { return byName(&a.RouteName, &b.RouteName) })
	slices.SortStableFunc(r.NotApplied, func(a, b NotApplied) int { return byName(&a.RouteName, &b.RouteName) })
	return r, nil
}

// byName is the order in which routes are listed.
func byName(a, b *report.RouteName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

// byNamespace returns the routes that gammaguard judges; of these the only one, if there is one.
func (a *auditor) byNamespace(routes []*manifest.Object, only *mesh.Route) map[string][]*mesh.Route {
	by := map[string][]*mesh.Route{}
	for _, object := range routes {
		if route := object.Route; a.Engine.Concerns(route) && (only == nil || route == only) {
			by[route.Metadata.Namespace] = append(by[route.Metadata.Namespace], route)
		}
	}
	return by
}

// namespace judges the routes of one namespace. What lies behind a missing grant is found
// by a second look, as if it were given.
func (a *auditor) namespace(r *Report, name string, routes []*mesh.Route) error {
	namespace, err := mesh.Known(mesh.FindNamespace(a.world, name))
	if err != nil {
		return err
	}
	policy := a.Engine.Policy()
	sum := Namespace{Name: name, Mode: policy.ModeIn(namespace), Exempt: policy.Exemptions.CoverNamespace(name), Grant: policy.Grants.Label(namespace), Routes: len(routes)}
	if namespace == nil {
		sum.Grant, sum.EffectiveGrant = grantUnknown, string(grantUnknown)
	} else {
		sum.EffectiveGrant = grants.Effective(namespace, policy)
	}
	judged := make([]Route, len(routes))
	missing := lacking{roles: map[mesh.Role]bool{}, kinds: map[mesh.RouteKind]bool{}}
	for i, route := range routes {
		if judged[i], err = a.judge(route); err != nil {
			return err
		}
		for _, f := range judged[i].Findings {
			if f.Rule == validate.RuleGrantMissing && !f.Unknown {
				missing.add(route.Kind, mesh.Role(f.Reference.Detail))
			}
		}
	}
	if len(missing.roles) > 0 && namespace != nil {
		sum.Needs, sum.Command = policy.Grants.Label(namespace).Plus(slices.Collect(maps.Keys(missing.roles))...), missing.command(policy, namespace)
		if err := a.behind(namespace, sum.Needs, routes, judged); err != nil {
			return err
		}
	}
	for i := range judged {
		judged[i].Dormant = a.dormant(routes[i])
		judged[i].Replaced = a.replaced[routes[i].String()]
		sum.add(&judged[i])
		lacks, parented := notApplied(routes[i], policy.Mesh, a.book)
		r.NotApplied = append(r.NotApplied, lacks...)
		if parented {
			sum.Parented++
		}
		if parented && len(lacks) == 0 {
			sum.Applied++
		}
		if len(judged[i].Findings)+len(judged[i].Changes)+len(judged[i].Withheld)+len(judged[i].Replaced) > 0 {
			r.Routes = append(r.Routes, judged[i])
		}
	}
	sum.Wake = a.wake(namespace, routes, &missing)
	r.Namespaces = append(r.Namespaces, sum)
	return nil
}

// grantUnknown is in the place of a grant that the user cannot read.
const grantUnknown mesh.Grant = "unknown"

// behind adds to the routes that lack the grant what would be found if the namespace,
// which is known, had it.
func (a *auditor) behind(namespace *mesh.Namespace, grant mesh.Grant, routes []*mesh.Route, judged []Route) error {
	assumed := *a
	assumed.world = mesh.Assume(a.world, granted(namespace, grant))
	for i := range judged {
		lacks := slices.DeleteFunc(slices.Clone(judged[i].Findings), func(f report.Finding) bool { return f.Rule != validate.RuleGrantMissing })
		if len(lacks) == 0 {
			continue
		}
		then, err := assumed.judge(routes[i])
		if err != nil {
			return err
		}
		then.Findings = append(lacks, then.Findings...)
		if judged[i].Verdict == report.Deny {
			then.Verdict = report.Deny
		}
		judged[i] = then
	}
	return nil
}

// judge judges a route as if it were created now, without what is dormant of it.
func (a *auditor) judge(route *mesh.Route) (Route, error) {
	plan, verdict, err := a.Audit(route, a.world)
	judged := Route{
		RouteName: report.RouteName{Kind: route.Kind, Namespace: route.Metadata.Namespace, Name: route.Metadata.Name},
		Verdict:   report.Admit, Findings: []report.Finding{}, plan: plan,
	}
	judged.Changes, judged.Withheld = report.ChangesOf(&plan)
	if err != nil {
		return judged, err
	}
	for i := range verdict.Findings {
		judged.Findings = append(judged.Findings, report.FindingOf(&verdict.Findings[i]))
	}
	for i := range verdict.UnknownIgnores {
		judged.Findings = append(judged.Findings, report.FindingOf(&verdict.UnknownIgnores[i]))
	}
	for i := range verdict.Unknown {
		judged.Findings = append(judged.Findings, unknown(&verdict.Unknown[i]))
	}
	switch {
	case verdict.Denied():
		judged.Verdict = report.Deny
	case len(verdict.Unknown) > 0:
		judged.Verdict = report.Unknown
	}
	return judged, nil
}

// unknown returns the finding of a rule that could not be judged.
func unknown(f *validate.Finding) report.Finding {
	lacks := "namespace " + f.Reference.Namespace
	if f.Reference.Service != (mesh.ServiceKey{}) {
		lacks = f.Reference.Service.String()
	}
	found := report.FindingOf(f)
	found.Effect, found.Unknown = report.EffectUnknown, true
	found.Problem, found.Remedy = "cannot be determined: you cannot read "+lacks, "request permission to read it"
	found.Message = found.Problem + "; " + found.Remedy + " (" + f.Rule + ")"
	return found
}

// add counts a route.
func (n *Namespace) add(r *Route) {
	if len(r.Dormant) > 0 {
		n.Dormant++
	}
	switch {
	case r.Verdict == report.Deny:
		n.Denied++
	case r.Verdict == report.Unknown:
		n.Unknown++
	case slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Effect == validate.Warn }):
		n.Warned++
	}
}

// Denies reports whether any route would be denied.
func (r *Report) Denies() bool {
	return slices.ContainsFunc(r.Namespaces, func(n Namespace) bool { return n.Denied > 0 })
}
