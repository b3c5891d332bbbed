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
	author     = "wrote the repository, or a pull request to it"
)

// weaknesses are in the order of the page.
var weaknesses = []string{
	"Deleted routes", "Spellings of Service", "Other mesh parents", "Routes of other groups", "Grants by a namespace's owner", "Mesh admins",
	"Large requests", "Direct callers", "Unreadable objects", "Stale caches", "Work caused by others", "The ServiceAccount's token",
	"The supply chain", "Repositories", "Text of others", "What remains", "The Service's side", "Ways to write a route", "Order of changes",
	"What answers reveal", "Faults",
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
		"Other mesh parents", routesOnly, "Attach to a ServiceEntry, MeshService, EgressNetwork, UnmeshedNetwork or Server, in any case",
		"no such spec is stored",
		[]string{"test/attack.TestMatrix", "mesh.TestGrantPolicyCovers", "config.TestParentKindsOfMeshes"},
	},
	{
		"Routes of other groups", routesOnly, "Write Linkerd's own HTTPRoute, in each version, with each parent, on Services of others too",
		"no such spec is stored; nothing else about these routes is checked or changed",
		[]string{"test/attack.TestMatrix", "test/attack.TestLinkerdRoute", "validate.TestGrantOnly", "mesh.TestDecodeLinkerdRoute", "internal/cli/cluster.TestLinkerdRoutes"},
	},
	{
		"Grants by a namespace's owner", nsAdmin, "Change the labels and annotations of the namespace in each way, with each kind of RBAC binding, and create such bindings",
		"only a ClusterRoleBinding grants; `resourceNames` limits it to those namespaces",
		[]string{"test/labels.TestWhoMayGrant", "test/labels.TestNamespaceOwner"},
	},
	{
		"Grants by a namespace's owner", nsAdmin, "Create a namespace that has the label, by name and by `generateName`",
		"refused without the right to that name",
		[]string{"test/labels.TestCreateLabeled", "test/labels.TestCreateDelegated"},
	},
	{
		"Grants by a namespace's owner", nsAdmin, "Set keys under `gammaguard.dev/` that are not known, such as `scrape`, in other cases, and of its subdomains",
		"only who may grant sets them",
		[]string{"test/labels.TestChange", "config.TestGrantsPolicyGuardsThePrefix"},
	},
	{
		"Mesh admins", "a mesh admin by any RBAC binding, who may patch namespaces and not update them",
		"Change Pod Security labels, other labels and annotations, finalizers, and ownerReferences of a namespace",
		"only the labels and annotations of `gammaguard.dev` change",
		[]string{"test/labels.TestMeshAdminsChangeOursAlone", "test/labels.TestRoleBindingPatchesNothing", "config.TestGrantsPolicyKeepsMeshAdmins", "test/labels.TestSizes"},
	},
	{
		"Mesh admins", nsAdmin, "Give a granted namespace as many labels or annotations as can be stored, so that the grant cannot be withdrawn",
		"refused above 1,000; where they are there already, who may only patch withdraws the grant, with 60,000 labels at less than a tenth of what the API server allows, with 170,000 at less than a fifth",
		[]string{"test/labels.TestSizes", "config.TestGrantsPolicySizes", "config.TestGrantsPolicyBoundsSizes"},
	},
	{
		"Large requests", granted, "Send a route of 3 MiB: tens of thousands of parentRefs, rules, matches or backends",
		"an answer within 1 s, less than 128 MiB of memory, hardly any live read",
		[]string{"test/attack.TestLargeRequest", "webhook.TestHostileRequests", "internal/definitions.TestListLimits", "internal/kube.TestConfirmedIsBounded", "validate.TestBoundedReads"},
	},
	{
		"Large requests", port, "Call any of the webhooks with costly regular expressions, long names, nested values, many ports, labels or annotations",
		"an answer within 1 s, less than 128 MiB of memory",
		[]string{"test/attack.TestHostileReviews", "webhook.TestHostileRequests", "webhook.TestHostilePreviews", "mesh.TestShadowsAreLinear"},
	},
	{
		"Large requests", granted, "Send objects at each limit of the schema", "admitted, within the webhooks' timeout",
		[]string{"test/attack.TestSchemaLimits", "webhook.TestLargestRoute"},
	},
	{
		"Direct callers", port, "Open many connections and send slowly, or not at all", "they are closed, others are served meanwhile, and memory stays under 128 MiB",
		[]string{"test/attack.TestSlowBodies", "webhook/server.TestSlowCallers", "webhook.TestIntakeIsBounded", "webhook.TestClientGone"},
	},
	{
		"Direct callers", port, "Have 256 connections answered once and hold them, open 100 a second that send nothing, again and again, by HTTP/2 too",
		"others are answered at once, by new connections too; a replica that cannot accept is not ready, and says why; memory stays under 128 MiB",
		[]string{
			"test/attack.TestFloods", "test/attack.BenchmarkUnderAttack", "webhook/server.TestIdleCallers", "webhook/server.TestNewcomerTakesPlace",
			"webhook/server.TestHalfARequestWaits", "webhook/server.TestAllUnderWay", "webhook/server.TestCannotAccept",
		},
	},
	{
		"Direct callers", port, "Claim to be other users, and name namespaces that do not exist, hundreds of times",
		"metrics name only namespaces that exist; denials and exemptions of others are logged; lines and counts say that the caller was not authenticated",
		[]string{"test/attack.TestStrangers", "webhook.TestStrangersWriteNoRecord", "webhook.TestExemptionsAreNamed", "webhook.TestFailuresAreBounded"},
	},
	{
		"Direct callers", port, "Have each call cause many live reads",
		"at most 250 a second for one address and 500 for all; what cannot be confirmed is an error, never a denial; what needs no live read is admitted",
		[]string{"test/attack.TestStrangers", "webhook.TestLiveReadsAreBounded", "webhook.TestBudgetInAll", "webhook.TestPreviewsAreBounded"},
	},
	{
		"Direct callers", port, "Call with no client certificate, or with another one", "refused where `--client-ca-file` is set",
		[]string{"webhook/server.TestClientCA", "test/apiserver.TestClientAuthentication"},
	},
	{
		"Unreadable objects", "may write the status of routes, or any object that gammaguard caches", "Store values that the schema admits and gammaguard cannot read",
		"the object counts as absent or its entry as stale; gammaguard starts and serves",
		[]string{"test/attack.TestPoisonedStatus", "internal/kube.TestUnreadable", "internal/kube.TestOwnEntry", "internal/kube.FuzzDecode"},
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
		"Work caused by others", granted, "Write routes that break the proxies of a mesh: invalid regular expressions, modifiers of Host, header values with newlines",
		"refused",
		[]string{"test/scenarios/runner.TestScenarios", "mesh.TestInvalidExpression", "validate/rules.TestMatchRegexInvalid", "validate/rules.TestFilterHeaderRestricted", "validate/rules.TestFilterHeaderValue"},
	},
	{
		"Work caused by others", granted, "Write regular expressions that take long to check", "they are refused, and the check takes a bounded time",
		[]string{"mesh.TestExpressionCost", "mesh.TestShadowsAreLinear"},
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
		"The ServiceAccount's token", "the token of the ServiceAccount", "Have the webhooks refuse nothing again, or bind others, by the ClusterRoleBinding `gammaguard-serving`",
		"the ServiceAccount can only add itself",
		[]string{"test/install.TestServiceAccountOnlyNotesThatItServed", "config.TestRights"},
	},
	{
		"The ServiceAccount's token", "the token of the ServiceAccount", "Add, change, remove and move entries of other controllers in the status of routes; write `Accepted=True`",
		"only gammaguard's entries change, and none is `Accepted=True`",
		[]string{"test/install.TestServiceAccountWritesOwnEntries", "config.TestPoliciesKnowWhatStatusWrites"},
	},
	{
		"The ServiceAccount's token", "the token of the ServiceAccount", "Make Events of other reasons, on other objects or in another name, and change those of others",
		"only Events that gammaguard makes are stored",
		[]string{"test/install.TestServiceAccountMakesOwnEvents"},
	},
	{
		"The supply chain", "moves a tag or a branch of what is used", "Replace an action, an image, or the template",
		"they are named by commit, by digest and by release",
		[]string{"test/ci.TestPins"},
	},
	{
		"Repositories", author, "Name commands and URLs where kustomize takes a path: remote bases, refs that are options of git, generators, `openapi`, `configurations`, patches, replacements",
		"no program starts, nothing connects, and the kustomization is reported as not checked, with the place",
		[]string{"test/repositories.TestRepositories", "test/repositories.TestTraced", "internal/cli/build.TestBackstop", "internal/cli/build.TestConfine"},
	},
	{
		"Repositories", author, "Name commands in the configuration of git: filters, hooks, fsmonitor, remotes of a partial clone",
		"`diff --base-ref` starts git and nothing else, and nothing connects",
		[]string{"internal/cli/revision.TestHostileConfiguration", "test/repositories.TestRepositories", "test/repositories.TestTraced"},
	},
	{
		"Repositories", author, "Add links to devices, to pipes, and out of the repository, and paths that leave it, in manifests, kustomizations, charts, and `.gammaguard.yaml`; have `--fix` write through them",
		"nothing outside the repository is read, shown, or written",
		[]string{"test/repositories.TestRepositories", "internal/cli/repository.TestFiles", "internal/cli/repository.TestReplaced", "internal/cli/check.TestProjectStaysInside", "internal/cli/check.TestSearchEndsAtRoot"},
	},
	{
		"Repositories", author, "Add templates that never end or take all memory, files of 1 GiB, and many links or patches that name one large file",
		"a finding for this set, or what of it is not checked, within bounded time and memory; the other sets are checked",
		[]string{"internal/cli/build.TestBounds", "internal/cli/build.TestLimitShrinks", "internal/cli/check.TestInputIsBounded", "internal/cli/check.TestLinksAreBounded", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Write YAML that costs a parser more than its size justifies: a hundred thousand directives, millions of tiny values, aliases of aliases",
		"refused before it is parsed, wherever YAML is read",
		[]string{"internal/yaml.TestBounds", "internal/yaml.TestAliases", "internal/cli/sets.TestProjectAliases", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Store a git tree that holds itself many times, with long names, for `diff --base-ref`",
		"refused while the list is read; what is kept of it is bounded",
		[]string{"internal/cli/revision.TestNamesAreBounded", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Render names and values of a megabyte, and thousands of routes with findings, from a small chart, with each of many files of values",
		"texts are shortened; the report is bounded, says how much it does not list, and counts all",
		[]string{"internal/cli/check.TestOutputIsBounded", "internal/manifest.TestObjectsAreBounded", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Hide tracked manifests by `.gitignore`, in `vendor`, `node_modules` or a hidden directory, or by a pattern of `.gammaguard.yaml` or `.gammaguardignore`",
		"routes in them are reported as not checked, and `--strict` fails; files that a pattern of gammaguard's names are reported with the pattern",
		[]string{"test/repositories.TestRepositories", "internal/cli/check.TestIgnoredRoutes", "internal/cli/check.TestHiddenRoutes", "internal/cli/check.TestLeftAside"},
	},
	{
		"Repositories", author, "Take manifests away from the sets: add a `Chart.yaml`, a chart above, values that turn their templates off, a kustomization that names them where it makes no object of them or as patches of something else, an annotation of another origin, kustomizations that use each other, or resources whose names have another ending, a component, `{{` in a comment, `.helmignore`, or sets in `.gammaguard.yaml`; write the group by escapes or in base64",
		"each file with a route of whose kind and name no set has one, and each chart and kustomization that may make routes and that no set has, is reported as not checked, and `--strict` fails; an ordinary repository has none",
		[]string{"internal/cli/check.TestHiddenRoutes", "internal/cli/check.TestOrdinaryRepositories", "internal/cli/check.TestHiddenAreGrouped", "internal/manifest.TestReadNoMap", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Add a CustomResourceDefinition of routes that admits more, or whose CEL rules take hours",
		"unless gammaguard is built with it, it is reported, and `--strict` fails unless `--crds` names it; its CEL rules are not evaluated",
		[]string{"internal/cli/check.TestForeignDefinitions", "test/repositories.TestRepositories"},
	},
	{
		"Repositories", author, "Write thousands of patterns in `.gitignore` or `.helmignore`, for thousands of files",
		"the number of comparisons is bounded. A file with too many patterns is reported and has no effect, and `--strict` fails",
		[]string{"internal/cli/check.TestIgnoresAreBounded", "internal/cli/sets.TestComparisonsAreBounded", "internal/cli/source.TestComparisonsAreBounded"},
	},
	{
		"Repositories", author, "Name files as flags of the command, for CI systems that expand patterns, and as programs and as files that a build reads",
		"no argument of the Action or the GitLab job is expanded; no such file is run or read",
		[]string{"test/ci.TestPreCommitHooks", "test/ci.TestGitHubAction", "test/ci.TestGitLabTemplate"},
	},
	{
		"Repositories", author, "Put links in the place of the reports that the Action, the GitLab job, and `-o` write",
		"refused: nothing outside the repository is written",
		[]string{"test/repositories.TestRepositories", "internal/cli/repository.TestCreate"},
	},
	{
		"Text of others", granted, "Put escapes of terminals, line breaks, and characters that turn text round into paths, header values, and annotations of routes, Services, and namespaces, and have an administrator list them",
		"all commands, in all formats, show them as escapes; no line is forged; the data of JSON and YAML hold the value as it is",
		[]string{"internal/cli/cluster.TestHostileText", "internal/printable.TestText", "internal/printable.TestWriter", "internal/cli/command.FuzzPrintable"},
	},
	{
		"Text of others", "writes a pull request", "Give files, folders, and objects names that begin a line with `::add-mask::`, or hold `##vso[...]`",
		"reports, errors, progress, and logs of libraries hold no command for a CI system; `-o github` holds only its own",
		[]string{"internal/cli/cluster.TestHostileText", "internal/printable.TestError", "internal/printable.FuzzText", "internal/cli/lsp.TestHostileText"},
	},
	{
		"Text of others", "writes a pull request", "Have the Markdown of `gammaguard diff` comment on routes whose header values end a table, mention people, hold links, or run a command when an example is pasted",
		"each cell is code; an example is words of a POSIX shell, and pasting it runs nothing else",
		[]string{"internal/cli/cluster.TestHostileText", "internal/printable.TestShell", "internal/printable.TestCode"},
	},
	{
		"Text of others", granted, "The same in a request: in names, annotations, and values that warnings, denials, and the log show",
		"they are quoted in each",
		[]string{"webhook.TestHostileText", "webhook.FuzzHandlers", "cmd/gammaguard-webhook.TestLogOnlyShows", "status.TestEventsOnlyShow"},
	},
	{
		"What remains", "platform team", "Uninstall, after a change of `status.controllerName`", "no entry, label, webhook or policy remains",
		[]string{"test/attack.TestFormerName", "test/install.TestUninstall", "test/install.TestOverlays", "internal/cli/cluster.TestStatusClear"},
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
		"Ways to write a route", routesOnly, "The same where the policies of `gammaguard policy` are installed, and no webhook is registered",
		"no such spec is stored",
		[]string{"test/attack.TestMatrixByPolicies", "test/attack.TestMatrixGrantedByPolicies", "test/scenarios/runner.TestPolicies", "internal/grantpolicy.TestRandom", "test/policies.TestRandom"},
	},
	{
		"Order of changes", routesOnly, "Have the grant withdrawn, then edit the route", "edits that keep the spec pass, others are refused",
		[]string{"test/attack.TestGrantWithdrawn", "validate.TestGrantsHaveNoRatchet"},
	},
	{
		"Order of changes", routesOnly, "Have the grant withdrawn, then set, change and remove labels and annotations that a mesh reads, in each way, also of a route that is being deleted",
		"refused; all other labels and annotations can be changed, also while gammaguard is down",
		[]string{"test/attack.TestMetadataMatrix", "mesh.TestUnchanged", "config.TestMatchConditionsOfUpdates", "test/apiserver.TestDown"},
	},
	{
		"Order of changes", routesOnly, "The same on a route with as many labels and annotations as can be stored",
		"the match conditions that read the route cost less than a tenth of what the API server allows; with `has-served`, which asks the authorizer, the validating webhook's cost less than a quarter",
		[]string{"test/attack.TestLargeMetadata", "config.TestMatchConditionsCost"},
	},
	{
		"Order of changes", routesOnly, "Edit a route from before that has no effect, in mode `audit` or `warn`, so that a mutation brings it to life",
		"the edit changes nothing else",
		[]string{"test/rollouts.TestRollouts", "webhook.TestMutatingWithheld"},
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
		"What answers reveal", routesOnly, "Ask about Services, ports, backends and namespaces that exist, and that do not, in each mode", "the answers are equal, byte for byte",
		[]string{"test/attack.TestAnswersAreEqual", "test/kubectl.TestUngrantedAnswers", "validate.TestUngrantedLearnNothing", "status/desired.TestNothingDisclosed"},
	},
	{
		"What answers reveal", routesOnly, "Have mutations fill in ports and port names from Services of the own namespace, also in dry runs, in each mode",
		"the answers, and the objects in them, are equal, byte for byte",
		[]string{"test/attack.TestAnswersAreEqual", "mutate.TestGranted", "webhook.TestMutating"},
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
