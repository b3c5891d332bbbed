package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

var (
	// controllerName is what the Gateway API takes as a controller's name
	// (GatewayController), at most 253 characters long.
	controllerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`)
	// conditionReason is what the API takes as a condition's reason, at most 1024
	// characters long.
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	// kindName is what the Gateway API takes as a kind, at most 63 characters long.
	kindName = regexp.MustCompile(`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`)
)

// validate returns every mistake in a configuration whose defaults are filled in.
func (c *GuardConfiguration) validate() field.ErrorList {
	errs := oneOf(field.NewPath("mode"), c.Mode, mesh.Modes())
	errs = append(errs, validateMesh(field.NewPath("mesh"), c.Mesh)...)
	errs = append(errs, listOf(field.NewPath("routeKinds"), c.RouteKinds, mesh.RouteKinds())...)
	if len(c.RouteKinds) == 0 {
		errs = append(errs, field.Required(field.NewPath("routeKinds"), "omit it to select all kinds"))
	}
	errs = append(errs, c.Grants.validate(field.NewPath("grants"))...)
	errs = append(errs, c.validateRules(field.NewPath("rules"))...)
	errs = append(errs, c.validateMutations(field.NewPath("mutations"))...)
	errs = append(errs, c.Parents.validate(field.NewPath("parents"), c.Rules[validate.RuleParentKindNotAllowed] == RuleAction(validate.Off))...)
	errs = append(errs, c.Exemptions.validate(field.NewPath("exemptions"))...)
	errs = append(errs, oneOf(field.NewPath("reports"), c.Reports, []ReportFormat{NoReports, OpenReports})...)
	return append(errs, c.Status.validate(field.NewPath("status"))...)
}

// validateMesh requires the name of a profile, which a version may follow: kuma@2.13.
func validateMesh(path *field.Path, name mesh.ProfileName) field.ErrorList {
	plain, version, versioned := strings.Cut(string(name), "@")
	switch {
	case name == "" || mesh.FindProfile(name) != nil:
		return nil
	case versioned && !mesh.IsRelease(version) && slices.Contains(mesh.ProfileNames(), mesh.ProfileName(plain)):
		return field.ErrorList{field.Invalid(path, name, "after the @ must be a version, such as "+plain+"@"+mesh.FindProfile(mesh.ProfileName(plain)).Newest)}
	}
	return field.ErrorList{field.NotSupported(path, name, mesh.ProfileNames())}
}

func (p *Parents) validate(path *field.Path, off bool) field.ErrorList {
	allowed, limited := path.Child("allowedKinds"), path.Child("routeKinds")
	errs := kinds(allowed, p.AllowedKinds, "is allowed in any case")
	const idle = "has no effect while the rule " + validate.RuleParentKindNotAllowed + " is off"
	if off && len(p.AllowedKinds) > 0 {
		errs = append(errs, field.Invalid(allowed, p.AllowedKinds, idle))
	}
	if off && len(p.RouteKinds) > 0 {
		errs = append(errs, field.Invalid(limited, p.RouteKinds, idle))
	}
	for _, kind := range slices.Sorted(maps.Keys(p.RouteKinds)) {
		for _, err := range kinds(limited, []string{kind}, "is allowed in any case") {
			err.Field = limited.Key(kind).String()
			errs = append(errs, err)
		}
		if len(p.AllowedKinds) > 0 && !slices.Contains(p.AllowedKinds, kind) {
			errs = append(errs, field.Invalid(limited.Key(kind), kind, "has no effect: "+allowed.String()+" does not list it"))
		}
		if len(p.RouteKinds[kind]) == 0 {
			errs = append(errs, field.Required(limited.Key(kind), "omit it to select all kinds"))
		}
		errs = append(errs, listOf(limited.Key(kind), p.RouteKinds[kind], mesh.RouteKinds())...)
	}
	return errs
}

func (g *Grants) validate(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("default"), g.Default, mesh.Grants())
	errs = append(errs, oneOf(path.Child("consumerRoutes"), g.ConsumerRoutes, []mesh.ConsumerRoutes{mesh.ConsumersAllowed, mesh.ConsumersDenied})...)
	for i := range g.Selectors {
		errs = append(errs, g.Selectors[i].validate(path.Child("selectors").Index(i))...)
	}
	if utf8.RuneCountInString(g.Contact) > 100 || strings.ContainsFunc(g.Contact, func(r rune) bool { return !unicode.IsPrint(r) }) {
		errs = append(errs, field.Invalid(path.Child("contact"), g.Contact, "must be one line of at most 100 printable characters"))
	}
	return append(errs, kinds(path.Child("parentKinds"), g.ParentKinds, "needs a grant in any case")...)
}

func (s *GrantSelector) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.NamespaceSelector == nil {
		errs = append(errs, field.Required(path.Child("namespaceSelector"), "use {} to select all namespaces"))
	}
	errs = append(errs, metavalidation.ValidateLabelSelector(s.NamespaceSelector,
		metavalidation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	if len(s.Roles) == 0 {
		errs = append(errs, field.Required(path.Child("roles"), "must list at least one role"))
	}
	errs = append(errs, listOf(path.Child("roles"), s.Roles, []mesh.Role{mesh.Producer, mesh.Consumer})...)
	if s.RouteKinds != nil && len(s.RouteKinds) == 0 {
		errs = append(errs, field.Required(path.Child("routeKinds"), "omit it to select all kinds"))
	}
	return append(errs, listOf(path.Child("routeKinds"), s.RouteKinds, mesh.RouteKinds())...)
}

func (c *GuardConfiguration) validateRules(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, id := range slices.Sorted(maps.Keys(c.Rules)) {
		if slices.Contains(mutate.Names(), id) {
			errs = append(errs, field.Invalid(path.Key(id), id, "is a mutation: set it in mutations"))
			continue
		}
		if slices.Contains(inputIDs, id) {
			errs = append(errs, field.Invalid(path.Key(id), id, "cannot be configured: it is no rule, but a finding about the input"))
			continue
		}
		if known := ruleIDs(); !slices.Contains(known, id) {
			errs = append(errs, unknown(path.Key(id), id, "rule", known))
		}
		errs = append(errs, oneOf(path.Key(id), validate.Action(c.Rules[id]), validate.Actions())...)
	}
	return errs
}

// inputIDs are the IDs of findings that are of no rule: those that gammaguard check and explain have besides.
var inputIDs = []string{
	"broken-document", "object-duplicate", "schema", "version-not-served", validate.IgnoreAnnotationID, "name-reference", "parent-kind-omitted",
}

func ruleIDs() []string {
	var ids []string
	for _, rule := range rules.Catalog() {
		ids = append(ids, rule.ID)
	}
	return ids
}

func (c *GuardConfiguration) validateMutations(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, id := range slices.Sorted(maps.Keys(c.Mutations)) {
		if slices.Contains(ruleIDs(), id) {
			errs = append(errs, field.Invalid(path.Key(id), id, "is a rule: set it in rules"))
			continue
		}
		if !slices.Contains(mutate.Names(), id) {
			errs = append(errs, unknown(path.Key(id), id, "mutation", mutate.Names()))
		}
		errs = append(errs, oneOf(path.Key(id), c.Mutations[id], []Switch{On, Off})...)
	}
	return errs
}

// kinds wants entries of the form "Kind.group", each once, and none that can have no effect:
// routes on Gateways and ListenerSets are no concern of gammaguard, and Service and
// ServiceImport, in every spelling, are what it is there for.
func kinds(path *field.Path, entries []string, covered string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, entry := range entries {
		kind, group, _ := strings.Cut(entry, ".")
		ref, lower := mesh.ParentRef{Kind: kind, Group: &group}, strings.ToLower(entry)
		switch {
		case len(kind) > 63 || !kindName.MatchString(kind) || len(validation.IsDNS1123Subdomain(group)) > 0:
			errs = append(errs, field.Invalid(path.Index(i), entry, "must be Kind.group, for example ServiceEntry.networking.istio.io"))
		case group == mesh.GatewayGroup && (strings.EqualFold(kind, "Gateway") || strings.EqualFold(kind, "ListenerSet")):
			errs = append(errs, field.Invalid(path.Index(i), entry, "has no effect: routes on Gateways and ListenerSets do not reach gammaguard"))
		case ref.Class(nil) != mesh.ImplementationSpecificParent:
			errs = append(errs, field.Invalid(path.Index(i), entry, "has no effect: this kind "+covered))
		case seen[lower]:
			errs = append(errs, field.Duplicate(path.Index(i), entry))
		default:
			if meant := misspelled(kind, group); meant != "" {
				errs = append(errs, unknown(path.Index(i), entry, "kind", []string{meant}))
			}
		}
		seen[lower] = true
	}
	return errs
}

// misspelled returns the parent kind of a mesh that was probably meant, where the kind is not one of these: a similar one in
// its group, or the same in a similar group. Meshes have other kinds in these groups, and none with such a name.
func misspelled(kind, group string) string {
	known := mesh.ParentKindsOfMeshes()
	for _, entry := range known {
		if strings.EqualFold(entry, kind+"."+group) {
			return ""
		}
	}
	kind = strings.ToLower(kind)
	for _, entry := range known {
		name, of, _ := strings.Cut(entry, ".")
		name = strings.ToLower(name)
		if of == group && mesh.Nearest(kind, []string{name}) != "" || name == kind && mesh.Nearest(group, []string{of}) != "" {
			return entry
		}
	}
	return ""
}

func (e *Exemptions) validate(path *field.Path) field.ErrorList {
	errs := filled(path.Child("usernames"), e.Usernames)
	errs = append(errs, filled(path.Child("groups"), e.Groups)...)
	errs = append(errs, distinct(path.Child("namespaces"), e.Namespaces)...)
	for i, name := range e.Namespaces {
		for _, why := range apivalidation.ValidateNamespaceName(name, false) {
			errs = append(errs, field.Invalid(path.Child("namespaces").Index(i), name, why))
		}
	}
	return errs
}

func (s *Status) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, name string) {
		if len(name) > 253 || !controllerName.MatchString(name) {
			errs = append(errs, field.Invalid(path, name, "must be a domain and a path of at most 253 characters, for example gammaguard.dev/guard"))
		}
	}
	check(path.Child("controllerName"), s.ControllerName)
	for i, name := range s.FormerControllerNames {
		path := path.Child("formerControllerNames").Index(i)
		if check(path, name); name == s.ControllerName {
			errs = append(errs, field.Invalid(path, name, "is the current controllerName"))
		}
	}
	errs = append(errs, distinct(path.Child("formerControllerNames"), s.FormerControllerNames)...)
	if len(s.ConflictReason) > 1024 || !conditionReason.MatchString(s.ConflictReason) {
		errs = append(errs, field.Invalid(path.Child("conflictReason"), s.ConflictReason,
			"must be a condition reason: one CamelCase word of at most 1024 characters, for example Conflicted"))
	}
	return errs
}

// oneOf requires one of the known values.
func oneOf[T ~string](path *field.Path, value T, known []T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// listOf requires known values without duplicates.
func listOf[T ~string](path *field.Path, values, known []T) field.ErrorList {
	var errs field.ErrorList
	for i, value := range values {
		errs = append(errs, oneOf(path.Index(i), value, known)...)
		errs = append(errs, repeated(path, values, i)...)
	}
	return errs
}

// distinct requires values without duplicates.
func distinct(path *field.Path, values []string) field.ErrorList {
	var errs field.ErrorList
	for i := range values {
		errs = append(errs, repeated(path, values, i)...)
	}
	return errs
}

// repeated returns the error for a value that stands in the list before: it has no effect.
func repeated[T ~string](path *field.Path, values []T, i int) field.ErrorList {
	if slices.Contains(values[:i], values[i]) {
		return field.ErrorList{field.Duplicate(path.Index(i), values[i])}
	}
	return nil
}

// filled requires values that are not empty, without duplicates.
func filled(path *field.Path, values []string) field.ErrorList {
	errs := distinct(path, values)
	for i, value := range values {
		if value == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
		}
	}
	return errs
}

// unknown returns the error for an unknown ID, with the most similar known one.
func unknown(path *field.Path, id, what string, known []string) *field.Error {
	err := field.NotSupported[string](path, id, nil)
	err.Detail = "unknown " + what
	if near := mesh.Nearest(id, known); near != "" {
		err.Detail += `; did you mean "` + near + `"?`
	} else if len(known) < 10 {
		err.Detail += ", valid values: " + strings.Join(known, ", ")
	}
	return err
}
