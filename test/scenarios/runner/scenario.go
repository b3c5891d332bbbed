package runner

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Scenario is one text archive.
type Scenario struct {
	// Name is the file's path below the folder of scenarios, without its ending:
	// "parent-headless/fail-cluster-ip-none".
	Name string
	// Path is the file's path as it was opened, for messages.
	Path string
	// Comment is the text above the first file: the title in its first line, and
	// the citation.
	Comment string
	// Config is the configuration that gammaguard runs with.
	Config *config.GuardConfiguration
	// Steps are in the order in which they are played.
	Steps []Step
	// Mistakes are why it cannot be played, one a line, each with its place.
	Mistakes error
}

// Title returns the first line of the comment.
func (s *Scenario) Title() string {
	title, _, _ := strings.Cut(s.Comment, "\n")
	return strings.TrimSpace(title)
}

// Documents returns all documents of the scenario.
func (s *Scenario) Documents() []*Document {
	var all []*Document
	for i := range s.Steps {
		all = append(all, s.Steps[i].Documents...)
	}
	return all
}

// StepKind says what a file of a scenario is.
type StepKind string

// The files of a scenario, by how their names end. A configuration is no step.
const (
	ConfigFile StepKind = "config.yaml"
	Cluster    StepKind = "cluster.yaml"
	Apply      StepKind = "apply.yaml"
	Delete     StepKind = "delete.yaml"
	Want       StepKind = "want.yaml"
)

// Step is one file of a scenario.
type Step struct {
	Kind StepKind
	// Origin is the file's first line.
	Origin manifest.Origin
	// Documents are those of cluster.yaml, apply.yaml and delete.yaml.
	Documents []*Document
	// Status is what want.yaml says of routes' status.
	Status []*RouteStatus
}

// Document is one object of cluster.yaml, apply.yaml or delete.yaml.
type Document struct {
	*manifest.Object
	// User is who applies it; empty for the administrator.
	User string
	// DryRun asks for a server-side dry run, and ServerSide for server-side apply.
	DryRun, ServerSide bool
	// Want is what must come of applying it, or nil where the scenario does not
	// say.
	Want *Verdict
	// Deletion is what must come of deleting it, or nil where the scenario does not say.
	Deletion *Deletion
}

// object returns the document as a client of the API server has it.
func (d *Document) object() (*unstructured.Unstructured, error) { return decodeObject(d.JSON) }

// isServiceImportCRD reports whether it is the definition of ServiceImport.
func (d *Document) isServiceImportCRD() bool {
	return d.Key.Kind == "CustomResourceDefinition" && d.Key.Name == serviceImports
}

// serviceImports names the definition of ServiceImport.
const serviceImports = "serviceimports." + mesh.MulticlusterGroup

// Verdict is what must come of applying one document.
type Verdict struct {
	Origin manifest.Origin
	// Deny, or else admit.
	Deny bool
	// Rules are the rules that denied, sorted, each once; nil if they are not
	// checked. Of a denial without any, some other part of the API server is the
	// author.
	Rules []string
	// Warnings are the rules and mutations that warned, sorted, each once; nil if
	// they are not checked.
	Warnings []string
	// Message is part of what the user reads.
	Message string
	// Object is part of the admitted object.
	Object Partial
}

// Deletion is what must come of deleting one object.
type Deletion struct {
	Origin manifest.Origin
	// Warnings are a part of each warning, in order.
	Warnings []string
}

// ByOthers says whether another part of the API server than gammaguard must deny:
// what does so is not there in memory.
func (v *Verdict) ByOthers() bool { return v.Deny && len(v.Rules) == 0 }

// RouteStatus is what gammaguard must have written into the status of one route,
// once settled.
type RouteStatus struct {
	Origin  manifest.Origin
	Route   manifest.Key
	Entries []WantEntry
}

// WantEntry is one entry of gammaguard's in status.parents. An empty condition
// must not be there; an empty reason or message is not checked.
type WantEntry struct {
	// Parent is part of the parentRef.
	Parent   Partial `json:"parent,omitempty" yaml:"parent"`
	Accepted string  `json:"accepted,omitempty" yaml:"accepted"`
	Reason   string  `json:"reason,omitempty" yaml:"reason"`
	Resolved string  `json:"resolved,omitempty" yaml:"resolved"`
	Partial  string  `json:"partial,omitempty" yaml:"partial"`
	Message  string  `json:"message,omitempty" yaml:"message"`
}

// Partial is a part of an object, as JSON decodes it; nil if it is not checked.
type Partial map[string]any
