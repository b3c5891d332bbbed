package rules

import (
	"slices"

	"github.com/gammaguard/gammaguard/validate"
)

// Catalog returns every rule, sorted by ID. A rule is added by its file and one
// line here.
func Catalog() []*validate.Rule {
	return []*validate.Rule{
		backendExternal(),
		backendExternalName(),
		backendGroupInvalid(),
		backendHasRoutes(),
		backendMissing(),
		backendNoEndpoints(),
		backendNotFound(),
		backendNotPermitted(),
		backendPortNotFound(),
		backendWeightsZero(),
		consumerRefused(),
		filterHeaderDuplicate(),
		filterHeaderRestricted(),
		filterHeaderValue(),
		grantMissing(),
		hostnamesIgnored(),
		matchRegexInvalid(),
		matchRegexNonportable(),
		matchUnreachable(),
		meshUnsupported(),
		noCatchAll(),
		parentAppProtocol(),
		parentDuplicate(),
		parentExposedType(),
		parentExternalName(),
		parentGroupInvalid(),
		parentHeadless(),
		parentKindNotAllowed(),
		parentNotFound(),
		parentPortNotFound(),
		parentProtocolMismatch(),
		parentServiceTerminating(),
		producerRoutesReplaced(),
		routeConflict(),
		routeOverlap(),
		serviceBecomesExternalName(),
		serviceNotEnrolled(),
		serviceOverridden(),
	}
}

// Find returns the rule with the ID, or nil.
func Find(id string) *validate.Rule {
	catalog := Catalog()
	if i := slices.IndexFunc(catalog, func(r *validate.Rule) bool { return r.ID == id }); i >= 0 {
		return catalog[i]
	}
	return nil
}
