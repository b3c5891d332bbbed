package desired

// The types of the conditions that an entry may have.
const (
	// Accepted is the Gateway API's condition; ours is only ever False.
	Accepted = "Accepted"
	// ResolvedRefs is the Gateway API's condition; ours is only ever False.
	ResolvedRefs = "ResolvedRefs"
	// PartiallyConflicted is True where the parentRef has lost some of its ports.
	PartiallyConflicted = "gammaguard.dev/PartiallyConflicted"
)

// The reasons of a condition, in addition to Settings.ConflictReason.
const (
	// NoMatchingParent: the parentRef attaches to no port of any Service.
	NoMatchingParent = "NoMatchingParent"
	// NamespaceNotGranted: the route's namespace is not granted the role.
	NamespaceNotGranted = "NamespaceNotGranted"
	// ConsumerRefused: the Service's side refuses consumer routes.
	ConsumerRefused = "ConsumerRefused"
	// BackendExternalName: a backend is a Service of type ExternalName, the reason of ResolvedRefs.
	BackendExternalName = "BackendExternalName"
	// Conflicted is the default of Settings.ConflictReason.
	Conflicted = "Conflicted"
)

// ControllerName is the default of Settings.ControllerName.
const ControllerName = "gammaguard.dev/guard"

// Settings are the part of the configuration about status.
type Settings struct {
	// ControllerName distinguishes our entries from those of other controllers; empty for
	// ControllerName.
	ControllerName string
	// FormerControllerNames are those of entries that are to be removed: what
	// ControllerName was before.
	FormerControllerNames []string
	// ConflictReason is the reason of conflicts; empty for Conflicted.
	ConflictReason string
}

// Entry is the desired entry in status.parents for one parentRef.
type Entry struct {
	// Ref is the parentRef's index in spec.parentRefs.
	Ref       int
	Condition Condition
	// Problem is the condition's message without how to fix it.
	Problem string
}

// Condition is the one condition of an entry, without its time.
type Condition struct {
	// Type is Accepted, ResolvedRefs or PartiallyConflicted.
	Type string
	// Status is "True" for PartiallyConflicted, and else "False".
	Status string
	// Reason is one word; Message describes the problem and how to fix it.
	Reason, Message string
	// ObservedGeneration is the generation of the route that was judged.
	ObservedGeneration int64
}
