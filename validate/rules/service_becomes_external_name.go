package rules

import "github.com/gammaguard/gammaguard/validate"

func serviceBecomesExternalName() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleServiceBecomesExternalName,
		Title: "A Service that routes use becomes of type ExternalName",
		Rationale: "No route is created with an ExternalName Service as a parent or a backend. A user who can change the Service can make it one " +
			"afterwards, and the requests of stored routes then follow an alias to a host that nobody has reviewed. This rule is about the change, or " +
			"the creation, of a Service, and not about a route. Mesh routes of the Service's own namespace count: who can write routes elsewhere must " +
			"not decide about the Service. Routes of any namespace are marked in their status.",
		Remedy: "Change the routes first, so that they use a Service with endpoints. To deny such changes of Services, set this rule to deny: they are " +
			"denied while gammaguard answers, and admitted while it does not.",
		Citation:   "GEP-1294, Allowed service types: ExternalName SHOULD NOT be allowed as parentRefs or backendRefs due to security concerns",
		Default:    validate.Warn,
		OfServices: true,
	}
}
