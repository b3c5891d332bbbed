package attack

// An attack is an attempt to get round a grant, or to hurt by what anyone may send or
// store.
type attack struct {
	// weakness is what it tries, of those in weaknesses.
	weakness string
	// actor says which rights the attacker has.
	actor string
	steps string
	// holds is what must hold after it.
	holds string
	// tests are where it is tried, as folder.Function.
	tests []string
}

// Actors.
const (
	routesOnly = "full rights on routes, no grant"
	nsAdmin    = "cluster-admin in the namespace (RoleBinding), full rights on all namespaces"
	granted    = "full rights on routes, grant"
	port       = "reaches the webhook port, no rights"
	nobody     = "none: a failure"
)

// weaknesses are in the order of the page.
var weaknesses = []string{
	"Deleted routes", "Spellings of Service", "Other mesh parents", "Grants by a namespace's owner", "Mesh admins", "Large requests",
	"Direct callers", "Unreadable objects", "Stale caches", "Work caused by others", "The ServiceAccount's token",
	"What remains", "The Service's side", "Ways to write a route", "Order of changes", "What answers reveal", "Faults",
}

// attacks are all that are tried.
var attacks = []attack{
	{
		"Deleted routes", routesOnly, "Delete a route that has a finalizer, and add a mesh parent in each way to change it",
		"the spec stays as it is; the finalizer can be removed, also while gammaguard is down",
		[]string{"test/attack.TestMatrix", "test/apiserver.TestDownWhileDeleted", "config.TestMatchConditionsOfDeletedRoutes", "validate.TestDeleted"},
	},
	{
		"Spellings of Service", routesOnly, "Write Service and ServiceImport in other cases and groups: `service`, group `core`, a version in the group",
		"no such spec is stored",
		[]string{"test/attack.TestMatrix", "mesh.TestParentClass"},
	},
	{
		"Spellings of Service", routesOnly, "The same where the mutating webhook does not run",
		"no such spec is stored",
		[]string{"test/kubectl.TestWithoutMutation"},
	},
	{
		"Other mesh parents", routesOnly, "Attach to a ServiceEntry, MeshService or EgressNetwork, in any case",
		"no such spec is stored",
		[]string{"test/attack.TestMatrix", "mesh.TestGrantPolicyCovers"},
	},
	{
		"Grants by a namespace's owner", nsAdmin, "Change the labels and annotations of the namespace in each way, with each kind of RBAC binding, and create such bindings",
		"only a ClusterRoleBinding grants; `resourceNames` limits it to those namespaces",
		[]string{"test/labels.TestWhoMayGrant", "test/labels.TestNamespaceOwner"},
	},
	{
		"Grants by a namespace's owner", nsAdmin, "Create a namespace that has the label, by name and by `generateName`",
		"refused without the right to that name",
		[]string{"test/labels.TestCreateLabelled", "test/labels.TestCreateDelegated"},
	},
	{
		"Mesh admins", "a mesh admin by any RBAC binding, who may patch namespaces and not update them",
		"Change Pod Security labels, other labels and annotations, finalizers, and ownerReferences of a namespace",
		"only the labels and annotations of `gammaguard.dev` change",
		[]string{"test/labels.TestMeshAdminsChangeOursAlone", "config.TestGrantsPolicyKeepsMeshAdmins", "config.TestGrantsPolicyManyLabels"},
	},
	{
		"Large requests", granted, "Send a route of 3 MiB: tens of thousands of parentRefs, rules, matches or backends",
		"an answer within 1 s, less than 128 MiB of memory, hardly any live read",
		[]string{"test/attack.TestLargeRequest", "webhook.TestHostileRequests", "definitions.TestListLimits", "mesh/live.TestConfirmedIsBounded", "validate.TestBoundedReads"},
	},
	{
		"Large requests", port, "Call any of the webhooks with costly regular expressions, long names, nested values, many ports, labels or annotations",
		"an answer within 1 s, less than 128 MiB of memory",
		[]string{"test/attack.TestHostileReviews", "webhook.TestHostileRequests", "webhook.TestHostilePreviews", "mesh.TestShadowsAreLinear"},
	},
	{
		"Large requests", granted, "Send objects at each limit of the schema", "admitted, within 1 s",
		[]string{"test/attack.TestSchemaLimits", "webhook.TestLargestRoute"},
	},
	{
		"Direct callers", port, "Open many connections and send slowly, or not at all", "they are closed, others are served meanwhile, and memory stays under 128 MiB",
		[]string{"test/attack.TestSlowBodies", "webhook/server.TestSlowCallers", "webhook.TestIntakeIsBounded", "webhook.TestClientGone"},
	},
	{
		"Direct callers", port, "Call with no client certificate, or with another one", "refused where `--client-ca-file` is set",
		[]string{"webhook/server.TestClientCA", "test/apiserver.TestClientAuthentication"},
	},
	{
		"Unreadable objects", "may write the status of routes, or any object that gammaguard caches", "Store values that the schema admits and gammaguard cannot read",
		"the object counts as absent or its entry as stale; gammaguard starts and serves",
		[]string{"test/attack.TestPoisonedStatus", "mesh/live.TestUnreadable", "mesh/live.TestOwnEntry", "mesh/live.FuzzDecode"},
	},
	{
		"Stale caches", nobody, "Cut off a replica's watches while grants are withdrawn", "within `--max-staleness` it is not ready, and judges by live reads",
		[]string{"test/apiserver.TestCutOff", "webhook.TestStale"},
	},
	{
		"Work caused by others", granted, "Attach many routes to one Service with many ports, and change one of them",
		"the work is linear, and no other route's status is written",
		[]string{"validate.TestManyConflicts", "validate.TestManyPorts", "mesh.TestPrecedenceIsLinear", "mesh.TestMatchKeysAreLinear", "test/status.TestWorkInProportion"},
	},
	{
		"Work caused by others", granted, "Make server-side dry runs on Services with many routes and matches, where `preview` is on",
		"one preview at a time, of at most 32 other routes and 2,000 matches",
		[]string{"webhook.TestPreview", "webhook.TestPreviewMatches", "webhook.TestPreviewBusy"},
	},
	{
		"Work caused by others", "may write the status of routes", "Remove or change gammaguard's entries in status again and again",
		"they are written with growing pauses, and in all at most 10 times in any second",
		[]string{"test/status.TestContested", "test/status.TestFight", "status.TestDamperInAll", "status.TestDamperPauses"},
	},
	{
		"The ServiceAccount's token", "the token of the self-managed ServiceAccount", "Change each field of its webhook configurations",
		"only `caBundle` changes",
		[]string{"test/install.TestServiceAccountChangesOnlyCABundles", "config.TestRights"},
	},
	{
		"What remains", "platform team", "Uninstall, after a change of `status.controllerName`", "no entry, label, webhook or policy remains",
		[]string{"test/attack.TestFormerName", "test/install.TestUninstall", "test/install.TestOverlays", "check/cluster.TestStatusClear"},
	},
	{
		"The Service's side", "full rights on routes, grant for consumer routes", "Attach to a Service whose owner accepts other namespaces or kinds only",
		"refused, and marked in status as soon as the annotation or a label changes",
		[]string{"test/attack.TestServiceSide", "mesh.TestRefusesConsumersByAnnotation", "test/scenarios/runner.TestScenarios", "test/labels.TestLabelsToSelectBy"},
	},
	{
		"Ways to write a route", routesOnly, "Every way to write a route of every kind and version, with every mesh parent: generated, see below",
		"no such spec is stored",
		[]string{"test/attack.TestMatrix", "test/attack.TestMatrixGranted", "test/attack.TestEndpoints"},
	},
	{
		"Order of changes", routesOnly, "Have the grant withdrawn, then edit the route", "edits that keep the spec pass, others are refused",
		[]string{"test/attack.TestGrantWithdrawn", "validate.TestGrantsHaveNoRatchet"},
	},
	{
		"Order of changes", routesOnly, "Delete a granted namespace and create it again", "the new namespace has no grant at once",
		[]string{"test/attack.TestNamespaceAgain"},
	},
	{
		"Order of changes", granted, "Delete a Service, and create it again as headless or ExternalName", "routes are judged by what is there now",
		[]string{"test/attack.TestServiceAgain"},
	},
	{
		"What answers reveal", routesOnly, "Ask about Services, ports, backends and namespaces that exist, and that do not", "the answers are equal, byte for byte",
		[]string{"test/attack.TestAnswersAreEqual", "test/kubectl.TestUngrantedAnswers", "validate.TestUngrantedLearnNothing", "status/desired.TestNothingDisclosed"},
	},
	{
		"What answers reveal", routesOnly, "Make server-side dry runs where `preview` is on",
		"there is no preview, also where the grant is not enforced",
		[]string{"webhook.TestPreview"},
	},
	{
		"Faults", nobody, "The guard is down, restarted, killed or suspended; etcd hangs; the API server restarts; certificate files disappear",
		"no mesh route is stored unjudged, routes on Gateways pass: see below", faultTests(),
	},
}
