// Package explain tells what a finding means: one topic for each rule of the
// catalog, each mutation, and for documents that cannot be read. `gammaguard
// explain`, the pages in docs/rules and the SARIF report print them.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// The IDs of findings about the input, which are not rules of the catalog: a
// document that cannot be read, an object that is declared twice, a route that the API
// server refuses by its definition before it asks a webhook, an annotation
// gammaguard.dev/ignore that names what it cannot silence, and references that have another name,
// or kind, than the Service of the input that they may mean.
const (
	BrokenDocument    = "broken-document"
	ObjectDuplicate   = "object-duplicate"
	Schema            = "schema"
	VersionNotServed  = "version-not-served"
	IgnoreAnnotation  = validate.IgnoreAnnotationID
	NameReference     = "name-reference"
	ParentKindOmitted = "parent-kind-omitted"
)

// The IDs by which outputs list what is no finding: what was not checked, and a failed test.
const (
	NotChecked  = "not-checked"
	TrafficTest = "traffic-test"
)

// shared are the pages of these, which are about more.
var shared = map[string]string{NotChecked: "ci.md", TrafficTest: "testing.md"}

// unlisted are the answers about these.
var unlisted = []Topic{
	{
		ID: NotChecked, Class: Input, Default: "unknown", Title: "Something that may hold routes was not checked",
		Rationale: "A set cannot be built with what the repository has, a file may hold routes that no set has, or an object is almost a route, by its kind or apiVersion. " +
			"It is no finding, but --strict fails because of it.",
		Remedy: "The message says why. Correct the object, add what is missing, name the file in a set of .gammaguard.yaml, or list it in .gammaguardignore.",
	},
	{
		ID: TrafficTest, Class: Input, Default: "fail", Title: "A request does not meet what a test expects",
		Rationale: "A file of tests says what requests to Services must meet. By the routes in the manifests, this request meets something else.",
		Remedy:    "Correct the routes, or, if the change is intended, the test. gammaguard trace shows why a request goes where it goes.",
	},
}

// NameReferences is the page with the configuration that has kustomize change the names in references.
const NameReferences = pages + "check-limits.md"

// pages is where the documentation is.
const pages = "https://github.com/gammaguard/gammaguard/blob/main/docs/"

// Class says what a topic is.
type Class string

// The classes of topics.
const (
	Rule     Class = "rule"
	Mutation Class = "mutation"
	Input    Class = "input"
)

// Topic is all that there is to say about one ID.
type Topic struct {
	ID    string `json:"id"`
	Class Class  `json:"class"`
	// Default is a rule's default action, and "on" for a mutation.
	Default   string `json:"default"`
	Title     string `json:"title"`
	Rationale string `json:"rationale"`
	Remedy    string `json:"remedy,omitempty"`
	Citation  string `json:"citation,omitempty"`
	// Kinds are the route kinds concerned; empty for all.
	Kinds []mesh.RouteKind `json:"kinds,omitempty"`
	// Notes say how it differs from others.
	Notes []string `json:"notes,omitempty"`
}

// Topics returns every topic: the rules by ID, the mutations in the order in which
// they are made, and what is said of the input itself.
func Topics() []Topic {
	var topics []Topic
	for _, rule := range rules.Catalog() {
		topics = append(topics, ruleTopic(rule))
	}
	for _, mutation := range mutate.Catalog() {
		topics = append(topics, mutationTopic(mutation))
	}
	return append(topics, Topic{
		ID:    BrokenDocument,
		Class: Input,
		// No configuration changes it.
		Default: string(validate.Deny),
		Title:   "A document cannot be read",
		Rationale: "A document that is not valid YAML or JSON, or not a Kubernetes object, cannot be checked or applied; neither can a kustomization or chart that cannot be " +
			"built. Only `gammaguard check` reports this: the API server rejects such a document before it calls a webhook.",
		Remedy: "Fix the document at the reported line. `gammaguard check` reads directories recursively: templates, such as those of a Helm chart, are not manifests; " +
			"render them first and check the output.",
	}, Topic{
		ID:      ObjectDuplicate,
		Class:   Input,
		Default: string(validate.Warn),
		Title:   "An object is declared twice",
		Rationale: "Two documents that are deployed together declare the same object. Applied one after the other, the last one replaces the others, and which one is last may depend " +
			"on file names. `gammaguard check` checks both routes, and uses the last one as context. Only `gammaguard check` reports this.",
		Remedy: "Keep one of the declarations, or, if they are alternatives, move each to a directory or kustomization of its own.",
	}, Topic{
		ID:      Schema,
		Class:   Input,
		Default: string(validate.Deny),
		Title:   "The CustomResourceDefinition does not allow the route",
		Rationale: "The API server validates each route by its CustomResourceDefinition: unknown and duplicate fields, types, limits, and CEL rules. It rejects the route " +
			"before it calls the validating webhook, so only `gammaguard check` reports this. The check uses the packages of the API server, and applies mutations first.",
		Remedy: "Fix the field as the message says. If the value is a variable that another tool substitutes, such as ${app}, substitute it before the check. If your cluster has other definitions of the routes, name them with --channel, --crds, or --cluster, or add them to the " +
			"input.",
		Notes: []string{"A fault is unknown if a Service that is not in the input decides whether a mutation fixes it. An example is a backendRef without a port."},
	}, Topic{
		ID:      VersionNotServed,
		Class:   Input,
		Default: string(validate.Deny),
		Title:   "The API server does not serve the route in this version",
		Rationale: "A release of the Gateway API serves each kind in some versions only, and its channels differ: GRPCRoute v1alpha2, for example, is not served any more. kubectl " +
			"cannot apply such a route. Only `gammaguard check` reports this.",
		Remedy: "Change apiVersion to a version that is served. If your cluster has other definitions of the routes, name them with --channel, --crds, or --cluster, or add them " +
			"to the input.",
		Notes: []string{"A ReferenceGrant in a version that is not served permits nothing: a note says so, and fails a strict check."},
	}, Topic{
		ID:      IgnoreAnnotation,
		Class:   Input,
		Default: string(validate.Warn),
		Title:   "The annotation " + mesh.IgnoreAnnotation + " names a rule that it cannot silence",
		Rationale: "The annotation silences rules on one route. It applies only to rules whose action is warn or audit. An unknown ID has no effect. A " +
			"rule that denies cannot be silenced, so that the author of a route cannot override an administrator.",
		Remedy: "Correct or remove the ID. If a rule denies the route, fix the route, or ask an administrator to change the action of the rule in the configuration.",
	}, Topic{
		ID:      NameReference,
		Class:   Input,
		Default: string(validate.Warn),
		Title:   "kustomize changed the name of a Service, and not of a reference to it",
		Rationale: "The fields namePrefix and nameSuffix of a kustomization change the names of objects, and the references that kustomize knows. It knows neither parentRefs nor " +
			"backendRefs, so the route refers to a Service that the set does not have. The webhooks do not see this.",
		Remedy: "Tell kustomize that parentRefs and backendRefs have names of Services: add a file with a nameReference to configurations in the kustomization. " +
			NameReferences + " has one that can be copied.",
		Notes: []string{"kustomize then changes each of these names that a Service of the set had, also where it is the name of a Gateway."},
	}, Topic{
		ID:      ParentKindOmitted,
		Class:   Input,
		Default: string(validate.Warn),
		Title:   "A parentRef without a kind has the name of a Service",
		Rationale: "A parentRef without a kind is to a Gateway. If the input, or the cluster with --cluster, has a Service of that name, and no such Gateway, the " +
			"Service may be meant. The route then is none of the mesh, and has no effect. The webhooks do not see it, unless the parentRef has group: \"\", of which parent-not-found " +
			"warns. The action is warn only if the parentRef has a port, or " +
			"group: \"\". It is audit if the parentRef has neither, as most references to Gateways. Only `gammaguard check` reports this.",
		Remedy:   `Set group: "" and kind: Service in the parentRef. If a Gateway is meant, set kind: Gateway, or add the Gateway to the input.`,
		Citation: "Gateway API, ParentReference: kind is Gateway, and group gateway.networking.k8s.io, where they are left out",
	})
}

// Find returns the topic with the ID, which may be that of what is no finding.
func Find(id string) (Topic, bool) {
	topics := append(Topics(), unlisted...)
	if i := slices.IndexFunc(topics, func(t Topic) bool { return t.ID == id }); i >= 0 {
		return topics[i], true
	}
	return Topic{}, false
}

func ruleTopic(rule *validate.Rule) Topic {
	topic := Topic{
		ID: rule.ID, Class: Rule, Default: string(rule.Default), Title: rule.Title,
		Rationale: rule.Rationale, Remedy: rule.Remedy, Citation: rule.Citation, Kinds: rule.Kinds,
	}
	if rule.DryRun != "" {
		topic.Notes = append(topic.Notes, fmt.Sprintf("In a dry run, the rule does not deny: its action becomes %s.", rule.DryRun))
	}
	switch {
	case rule.Fault == validate.GrantMissing, rule.Fault == validate.ConsumerRefused:
		topic.Notes = append(topic.Notes, "If the rule denies, rules that read from the cluster do not run, so that the response reveals nothing to users without access.",
			"An update that leaves the spec, and the labels and annotations of meshes, as they are is admitted; any other update is checked again.")
	case rule.Default == validate.Deny:
		topic.Notes = append(topic.Notes, "An update is denied only if it introduces the problem; a problem that the stored route has already causes a warning.")
	}
	if rule.Default != validate.Deny && rule.Default != validate.Off {
		topic.Notes = append(topic.Notes, fmt.Sprintf("To silence the rule on one route, set the annotation %s: %s.", mesh.IgnoreAnnotation, rule.ID))
	}
	return topic
}

func mutationTopic(mutation *mutate.Mutation) Topic {
	topic := Topic{
		ID: mutation.ID, Class: Mutation, Default: "on", Title: mutation.Title,
		Rationale: mutation.Rationale, Citation: mutation.Citation,
		Remedy: "If a user creates a route, or changes its spec, in a namespace whose mode is enforce, no action is required. The webhook makes the " +
			"change and reports it as a warning. It changes nothing in other modes, on a route that a controller owns, and in an update that leaves the " +
			"spec as it is. To write the change to the manifests, run `gammaguard check --fix`.",
	}
	if mutation.ID == "parent-group" || mutation.ID == "parent-kind" {
		topic.Notes = append(topic.Notes, "A route that is stored without this change is dormant: it has no effect, also when it is applied again unchanged, until its spec "+
			"changes. To list dormant routes, and to print the commands that make them live, run `gammaguard audit`.")
	}
	topic.Notes = append(topic.Notes,
		"The webhook makes the change in mode enforce only. In mode warn it warns of what it would set; in mode audit, and for exempt users and namespaces, it records it.",
		"A route that a controller owns is not changed, because the controller would write it back: correct the object that the message names.")
	if mutation.ReadsServices {
		topic.Notes = append(topic.Notes, "The mutation reads Services, and so needs the grant, also in the namespace of the route: the change reveals what exists. If grant-missing does not deny, it reads Services in that namespace without the grant.")
	}
	return topic
}

// Configuration returns the lines of a GuardConfiguration that set the topic's
// action; empty for a topic that cannot be configured.
func (t *Topic) Configuration() string {
	action := validate.Warn
	switch {
	case t.Class == Input:
		return ""
	case t.Class == Mutation:
		return "mutations: {" + t.ID + ": off}"
	case t.Default == string(validate.Warn):
		action = validate.Deny
	}
	return "rules: {" + t.ID + ": " + string(action) + "}"
}

// Page is where the topic's page is found.
func (t *Topic) Page() string {
	return pages + cmp.Or(shared[t.ID], "rules/"+t.ID+".md")
}

// Markdown says why it is a finding, and how to fix it.
func (t *Topic) Markdown() string { return t.Rationale + "\n\n**How to fix:** " + t.Remedy }

// KindNames reads "HTTPRoute, GRPCRoute", or "all route kinds".
func (t *Topic) KindNames() string {
	if len(t.Kinds) == 0 {
		return "all route kinds"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Kinds), "[]"), " ", ", ")
}
