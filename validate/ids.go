package validate

// The IDs of the rules that the engine, or another package than the rules' own, knows by name.
// The catalog that is given to New has all of them. Any other rule is known by its ID alone.
const (
	// RuleGrantMissing and RuleConsumerRefused run before all others, and hide what these find.
	RuleGrantMissing    = "grant-missing"
	RuleConsumerRefused = "consumer-refused"
	// RuleParentGroupInvalid describes why a binding is Dormant, RuleMeshUnsupported why one
	// is Unsupported.
	RuleParentGroupInvalid = "parent-group-invalid"
	RuleMeshUnsupported    = "mesh-unsupported"
	// RuleBackendExternalName marks routes whose backends become of that type.
	RuleBackendExternalName = "backend-external-name"
	// RuleServiceBecomesExternalName is about a change of a Service.
	RuleServiceBecomesExternalName = "service-becomes-external-name"
	// RuleBackendNotPermitted warns under the profile of a mesh that needs ReferenceGrants.
	RuleBackendNotPermitted = "backend-not-permitted"
	// RuleServiceNotEnrolled and RuleServiceOverridden are about routes that have no effect though
	// nothing is wrong with them: what describes a Service says so too.
	RuleServiceNotEnrolled = "service-not-enrolled"
	RuleServiceOverridden  = "service-overridden"
	// RuleParentAppProtocol is about routes that do not fit the protocol of a port: the trace of a request says so too.
	RuleParentAppProtocol = "parent-app-protocol"
	// RuleMatchUnreachable is about matches, which a misspelled field may leave out.
	RuleMatchUnreachable = "match-unreachable"
	// RuleBackendWeightsZero is about weights that a Rollout may set.
	RuleBackendWeightsZero = "backend-weights-zero"
	// RuleParentKindNotAllowed goes by a list in the configuration.
	RuleParentKindNotAllowed = "parent-kind-not-allowed"
)

// IgnoreAnnotationID is the ID of the findings about the ignore annotation itself. It is not one of a rule.
const IgnoreAnnotationID = "ignore-annotation"
