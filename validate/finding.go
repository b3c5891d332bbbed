package validate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Finding is one rule that fired, at one place.
type Finding struct {
	// Rule is the rule's ID.
	Rule string
	// Field is the path of the field at fault: "spec.parentRefs[0].name".
	Field string
	// Value is the offending value, a string or a number; nil if there is none to
	// show.
	Value any
	// Type classes the fault as API errors do.
	Type FaultType
	// Problem describes what is wrong, without a full stop.
	Problem string
	// Remedy describes how to fix it, without a full stop.
	Remedy string
	// Labels is the object whose labels or annotations the remedy changes; empty if it changes none.
	Labels mesh.ObjectKey
	// Reference identifies the reference at fault. With the rule it identifies the
	// finding across an update, regardless of its index.
	Reference Reference
	// Default is the action of this finding where the configuration sets none for its
	// rule; empty for the rule's own default.
	Default Action
	// Action is the rule's action by the configuration, or the default.
	Action Action
	// Effect is what the finding leads to on this request, at most as strict as
	// Action.
	Effect Action
	// Downgraded is the reason why Effect is milder than Action.
	Downgraded DowngradeReason
	// Unconfirmed reports that the finding is by the cache alone, where a request has
	// more to confirm than is read live for one.
	Unconfirmed bool

	// reads are what a finding that would deny was read from.
	reads []mesh.Read
	// ofTraffic: the rule is OfTraffic.
	ofTraffic bool
}

// FaultType classes a finding as API errors do.
type FaultType uint8

// The classes of faults.
const (
	InvalidValue FaultType = iota
	NotFound
	Duplicate
	Forbidden
)

// Reference identifies what a finding is about.
type Reference struct {
	// Service is the Service or ServiceImport concerned, if any.
	Service mesh.ServiceKey
	// Namespace is the namespace concerned, if any: one that grants or refuses.
	Namespace string
	// Detail distinguishes findings on one Service, for example by a port.
	Detail string
}

// DowngradeReason is the reason why a finding leads to less than its rule's action.
type DowngradeReason string

const (
	// NotDowngraded: the finding leads to its rule's action.
	NotDowngraded DowngradeReason = ""
	// DowngradedByUpdate: the same finding holds for the old object.
	DowngradedByUpdate DowngradeReason = "update"
	// DowngradedByDryRun: the request is a dry run.
	DowngradedByDryRun DowngradeReason = "dry-run"
	// DowngradedByMode: the namespace's mode does not enforce.
	DowngradedByMode DowngradeReason = "mode"
	// DowngradedByExemption: the user or the namespace is exempt.
	DowngradedByExemption DowngradeReason = "exemption"
	// DowngradedByAnnotation: the route's annotation silences the rule.
	DowngradedByAnnotation DowngradeReason = "annotation"
	// DowngradedByDormancy: the parentRef is stored, and no mesh acts on it.
	DowngradedByDormancy DowngradeReason = "dormant"
	// DowngradedByMutation: the mode or an exemption keeps a mutation from setting the field.
	// Without them, the mutation would set it, and the request would not be denied for it.
	DowngradedByMutation DowngradeReason = "mutation"
)

// Message reads "what is wrong; how to fix it (rule-id)".
func (f *Finding) Message() string {
	return f.text("", "")
}

// ProblemAlone is the message without how to fix it: "what is wrong (rule-id)".
func (f *Finding) ProblemAlone() string { return f.prefix() + f.Problem + " (" + f.Rule + ")" }

// text is the message, after the place that it is about.
func (f *Finding) text(place, colon string) string {
	return place + colon + f.prefix() + f.Problem + "; " + f.Remedy + " (" + f.Rule + ")"
}

func (f *Finding) prefix() string {
	switch {
	case f.Unconfirmed:
		return "not confirmed: "
	case f.Downgraded == DowngradedByDormancy:
		return "dormant: "
	case f.Action != Deny || f.Effect == Deny:
		return ""
	case f.Downgraded == DowngradedByUpdate:
		return "existing problem, not denied: "
	case f.Downgraded == DowngradedByMutation:
		return "not corrected here: "
	}
	return "would be denied: "
}

// quote makes texts of the finding that only show: they name objects, and what stands in
// them, which others wrote.
func (f *Finding) quote() { f.Problem, f.Remedy = printable.Text(f.Problem), printable.Text(f.Remedy) }

// FieldError returns the finding in the form of the API server's own faults. Its
// detail is the finding's message.
func (f *Finding) FieldError() *field.Error {
	fault := &field.Error{Field: f.Field, BadValue: f.Value, Detail: f.Message()}
	if f.Value == nil {
		fault.BadValue = field.OmitValueType{}
	}
	switch f.Type {
	case InvalidValue:
		fault.Type = field.ErrorTypeInvalid
	case NotFound:
		fault.Type = field.ErrorTypeNotFound
	case Duplicate:
		fault.Type = field.ErrorTypeDuplicate
	case Forbidden:
		fault.Type = field.ErrorTypeForbidden
	}
	return fault
}

// Warning reads "field: what is wrong; how to fix it (rule-id)".
func (f *Finding) Warning() string {
	return f.text(f.Field, ": ")
}

// fault identifies a fault of a route at different times.
type fault struct {
	rule      string
	reference Reference
}

func (f *Finding) fault() fault { return fault{f.Rule, f.Reference} }

// sortFindings orders findings by field path, indices as numbers, then by rule.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(comparePaths(a.Field, b.Field), strings.Compare(a.Rule, b.Rule))
	})
}

// comparePaths orders field paths segment by segment, indices as numbers.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = nextSegment(a)
		y, b = nextSegment(b)
		if x == y {
			continue // also for speed: Atoi of a name allocates an error
		}
		m, errM := strconv.Atoi(x)
		n, errN := strconv.Atoi(y)
		if errM == nil && errN == nil {
			if c := cmp.Compare(m, n); c != 0 {
				return c
			}
		} else if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return strings.Compare(a, b)
}

func nextSegment(path string) (segment, rest string) {
	separator := func(c byte) bool { return c == '.' || c == '[' || c == ']' }
	for path != "" && separator(path[0]) {
		path = path[1:]
	}
	for i := range len(path) {
		if separator(path[i]) {
			return path[:i], path[i:]
		}
	}
	return path, ""
}

// refDetail distinguishes references to one Service by what they select of it.
func refDetail(port int32, sectionName string) string {
	if port == 0 && sectionName == "" {
		return ""
	}
	return strconv.Itoa(int(port)) + "/" + sectionName
}
