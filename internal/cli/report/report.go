// Package report is what `gammaguard check` found, and the forms in which it is
// told: text for people, SARIF for code scanning, workflow commands for GitHub
// Actions, and, as it stands here, JSON for programs.
package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Kind is the kind of the JSON form of a check.
const Kind = "CheckReport"

// CheckReport is the outcome of one check. Its JSON form is documented in docs/cli.
type CheckReport struct {
	TypeMeta
	Summary Summary `json:"summary"`
	// Routes are all routes that were judged, in the order of the input.
	Routes []Route `json:"routes"`
	// Broken are the documents that could not be read.
	Broken []Broken `json:"broken"`
	// Duplicates are the objects that are in one set a second time: the last one is applied.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// Fixed are the changes that --fix wrote into files before this check.
	Fixed []Fixed `json:"fixed,omitempty"`
	// NotFixed are the changes that --fix could not write.
	NotFixed []NotFixed `json:"notFixed,omitempty"`
	// Sets are what was found to be deployed together, if it was looked for; Skipped is
	// what was left aside.
	Sets    []Set     `json:"sets,omitempty"`
	Skipped []Skipped `json:"skipped,omitempty"`
	// Unbuilt are the sets that were found and are broken, so that nothing of them could be judged.
	Unbuilt []Set `json:"-"`
	// Notices say what else bears on what was checked.
	Notices []Notice `json:"notices,omitempty"`

	files map[string]bool
	// listed is how large the parts of the report are, in bytes, and left are those beyond its bound.
	listed int
	left   Summary
	// since: the report is listed below a difference, with what the base does not have. What is found in equal words on several
	// routes is listed once.
	since bool
}

// New returns an empty report.
func New() *CheckReport {
	return &CheckReport{TypeMeta: Typed(Kind), Routes: []Route{}, Broken: []Broken{}, files: map[string]bool{}}
}

// Empty reports whether no input could be read, so that the report says nothing.
func (r *CheckReport) Empty() bool {
	return len(r.files)+len(r.Routes)+len(r.Broken)+len(r.Sets)+len(r.Skipped)+len(r.Notices) == 0
}

// SeenFile notes that the file was read.
func (r *CheckReport) SeenFile(name string) { r.files[name] = true }

// Add adds what was found in a set.
func (r *CheckReport) Add(of *CheckReport, set Set) {
	r.Sets = append(r.Sets, set)
	for i := range of.Routes {
		of.Routes[i].Set = set.String()
	}
	for i := range of.Broken {
		of.Broken[i].Set = set.String()
	}
	r.Merge(of)
	r.Fixed = append(r.Fixed, of.Fixed...)
	for i := range of.NotFixed {
		if !slices.ContainsFunc(r.NotFixed, of.NotFixed[i].same) { // a base is in several sets
			r.NotFixed = append(r.NotFixed, of.NotFixed[i])
		}
	}
	for _, skipped := range of.Skipped {
		if !slices.Contains(r.Skipped, skipped) { // a chart is in several sets
			r.Skipped = append(r.Skipped, skipped)
		}
	}
	for _, notice := range of.Notices {
		if !slices.Contains(r.Notices, notice) {
			r.Notices = append(r.Notices, notice)
		}
	}
	maps.Copy(r.files, of.files)
}

// Hidden returns why the check fails: a set that somebody named is not checked. A strict one fails, too, where any is not, and
// where routes may be hidden, or judged by what the repository says itself. Each is an *Unchecked.
func (r *CheckReport) Hidden(strict bool) (errs []error) {
	for _, s := range r.Skipped {
		if set := s.At != (Place{}); s.Named || strict && (s.Hides || set) {
			errs = append(errs, &Unchecked{Path: s.Path, Reason: s.Reason, Set: set})
		}
	}
	for _, n := range r.Notices {
		if strict && n.Fails {
			errs = append(errs, &Unchecked{Path: n.place(), Reason: n.Message})
		}
	}
	return errs
}

// Merge adds the routes, broken documents, and duplicates of another report.
func (r *CheckReport) Merge(of *CheckReport) {
	for i := range of.Routes {
		r.AddRoute(&of.Routes[i])
	}
	for i := range of.Broken {
		r.AddBroken(of.Broken[i])
	}
	for i := range of.Duplicates {
		r.AddDuplicate(of.Duplicates[i])
	}
	r.left.add(&of.left)
}

// SetKind is what a set is made of.
type SetKind string

// The kinds of sets.
const (
	// Kustomization: what kustomize builds.
	Kustomization SetKind = "kustomization"
	// Chart: what Helm renders.
	Chart SetKind = "chart"
	// Directory: the manifests of one directory.
	Directory SetKind = "directory"
	// File: the manifests of one file.
	File SetKind = "file"
)

// Set is a group of objects that are deployed together, and so checked together.
type Set struct {
	Kind SetKind `json:"kind"`
	Path string  `json:"path"`
	// Values is the file with which a chart was rendered, if it was not with its own
	// values.
	Values string `json:"values,omitempty"`
	Routes int    `json:"routes"`
}

// String reads "chart charts/shop with charts/shop/ci/dev.yaml".
func (s *Set) String() string {
	text := string(s.Kind) + " " + s.Path
	if s.Values != "" {
		text += " with " + s.Values
	}
	return text
}

// NotManifest is the reason for which a file is left aside that is not a manifest.
const NotManifest = "not a manifest"

// Skipped is a file, folder or set that was left aside, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Hides is set if it may hold routes that a strict check must not pass over.
	Hides bool `json:"-"`
	// At is the place to show it at if Path names a set that was not built as a whole; else it is zero.
	At Place `json:"-"`
	// Named is set for such a set that somebody named, so that it must be built.
	Named bool `json:"-"`
	// Lacks is the dependency that a chart lacks; empty unless it is why.
	Lacks string `json:"-"`
}

// Notice is what bears on what was checked, and is neither a finding nor left aside.
type Notice struct {
	Path string `json:"path"`
	// Line is 0 for a notice that is about no line.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Ignored is how many files that may hold routes, charts, and kustomizations a pattern of the repository leaves aside.
	Ignored int `json:"ignored,omitempty"`
	// Pattern is that pattern.
	Pattern string `json:"-"`
	// Fails is set if a strict check must not pass over it.
	Fails bool `json:"-"`
	// Explains is set if it only says why something may be unknown or broken.
	Explains bool `json:"-"`
}

// place reads "a.yaml:1", or "a.yaml".
func (n *Notice) place() string {
	if n.Line == 0 {
		return n.Path
	}
	return fmt.Sprintf("%s:%d", n.Path, n.Line)
}

// String reads "a.yaml:1: what bears on the check".
func (n *Notice) String() string { return n.place() + ": " + n.Message }

// Stdin is the name of standard input among the files.
const Stdin = "<stdin>"

// Place is where something stands in the input.
type Place struct {
	File string `json:"file"`
	// Line counts from 1.
	Line int `json:"line"`
}

// Verdict is what the webhook would answer.
type Verdict string

// The verdicts on a route.
const (
	Admit Verdict = "admit"
	Deny  Verdict = "deny"
	// Unknown: nothing known denies the route, but not all that bears on it is
	// known.
	Unknown Verdict = "unknown"
)

// Route is the judgment on one route.
type Route struct {
	RouteName
	Place
	// Set is the set that the route is in, if sets were looked for.
	Set     string  `json:"set,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Findings are sorted by field path.
	Findings []Finding `json:"findings"`
	// Changes are what mutations set before the route is judged, and Withheld what they would
	// set.
	Changes  []Change `json:"changes"`
	Withheld []Change `json:"withheld,omitempty"`
	// Status is what gammaguard would write into the stored route's status: its own
	// entries only, and none while nothing is wrong.
	Status Status `json:"status"`
}

// EffectUnknown is the effect of a rule that cannot be judged: whether it fires
// depends on an object that is not in the input.
const EffectUnknown validate.Action = "unknown"

// EffectDormant is the effect of what is wrong with a stored parentRef that no mesh acts on:
// none, until the route is changed.
const EffectDormant validate.Action = "dormant"

// Finding is one rule that fired, or may fire, at one field of a route.
type Finding struct {
	Rule string `json:"rule"`
	// Action is the rule's, by the configuration; Effect is what it comes to here.
	Action validate.Action `json:"action"`
	Effect validate.Action `json:"effect"`
	// Downgraded says why the effect is milder than the action: update, dry-run, mode,
	// exemption, annotation or mutation.
	Downgraded string `json:"downgraded,omitempty"`
	// Unknown says that the finding is about something that is not known. Its
	// effect is deny if the check is strict.
	Unknown bool   `json:"unknown,omitempty"`
	Field   string `json:"field"`
	// File is that of the field if it is not the route's, such as a patch.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 0 for what is not from a file
	// Value is the offending value, a string or a number.
	Value   any    `json:"value,omitempty"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
	// Message is the sentence that the webhook would say.
	Message string `json:"message"`
	// Lacks is the object that the input lacks; empty unless the finding is unknown.
	Lacks string `json:"-"`
	// Reference identifies the finding on the route, with the rule, in whatever version
	// of the input.
	Reference validate.Reference `json:"-"`
	// Raised: the version before has the finding too, and there it does not deny.
	Raised bool `json:"-"`
}

// Change is one field that a mutation sets, or would.
type Change struct {
	Mutation string `json:"mutation"`
	// Withheld is the reason why the webhook does not set the field: controller, exemption,
	// or mode; Effect is then warn, or audit if it does not warn of that.
	Withheld mutate.Withheld `json:"withheld,omitempty"`
	Effect   validate.Action `json:"effect,omitempty"`
	Field    string          `json:"field"`
	// File is that of the field if it is not the route's, such as a patch.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Value any    `json:"value"`
	// Message is the warning that the webhook would give.
	Message string `json:"message"`
	// Edit makes the change in the file; nil where that is not asked for or not possible.
	Edit *Edit `json:"edit,omitempty"`
}

// Edit replaces a part of a file. Lines and columns count from 1, columns in characters;
// the end is that of the first character that stays.
type Edit struct {
	StartLine   int    `json:"startLine"`
	StartColumn int    `json:"startColumn"`
	EndLine     int    `json:"endLine"`
	EndColumn   int    `json:"endColumn"`
	Text        string `json:"text"`
}

// Status is the part of a route's status that is gammaguard's.
type Status struct {
	Parents []ParentStatus `json:"parents"`
	// Unknown are the parentRefs, by their index in the spec, whose status depends
	// on objects that are not known.
	Unknown []int `json:"unknownParentRefs,omitempty"`
}

// ParentStatus is one entry of status.parents.
type ParentStatus struct {
	// ParentRef is copied from the spec as it is.
	ParentRef      json.RawMessage `json:"parentRef"`
	ControllerName string          `json:"controllerName"`
	Conditions     []Condition     `json:"conditions"`
}

// Condition is a condition without the time of its last transition, which is the
// cluster's to say.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Broken is a document that cannot be read.
type Broken struct {
	Place
	Message string `json:"message"`
	// Set is the set that it is in, or keeps from being built; empty if it is in none.
	Set string `json:"-"`
}

// Duplicate is an object that was declared before.
type Duplicate struct {
	Place
	// Object names it, as "Service shop/cart".
	Object string `json:"object"`
	// First is where it stands first.
	First Place `json:"first"`
}

// NotFixed is a change that could not be written, and why.
type NotFixed struct {
	Fixed
	Reason string `json:"reason"`
}

func (n *NotFixed) same(of NotFixed) bool {
	return n.File == of.File && n.Line == of.Line && n.Route == of.Route && n.Field == of.Field && n.Reason == of.Reason
}

// Fixed is a change that was written into a file. Its line is that of the file as
// it was before.
type Fixed struct {
	File  string `json:"file"`
	Route string `json:"route"`
	Change
}
