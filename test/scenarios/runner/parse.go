package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// Load reads all scenarios below the folder, sorted by name, those with Mistakes among
// them. The error says that the folder cannot be used at all.
func Load(dir string) (scenarios []*Scenario, err error) {
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".txtar" {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		scenarios = append(scenarios, Parse(strings.TrimSuffix(filepath.ToSlash(name), ".txtar"), file, data))
		return nil
	})
	if err == nil && len(scenarios) == 0 {
		err = fmt.Errorf("no scenario (*.txtar) in %s", dir)
	}
	return scenarios, err
}

// Parse reads one scenario.
func Parse(name, file string, data []byte) *Scenario {
	archive := txtar.Parse(data)
	p := &parser{at: manifest.Origin{File: file}, scenario: &Scenario{Name: name, Path: file, Comment: strings.TrimSpace(string(archive.Comment))}}
	line := 1 + strings.Count(string(archive.Comment), "\n")
	for _, f := range archive.Files {
		lines := strings.Count(string(f.Data), "\n")
		p.at = manifest.Origin{File: file, Line: line + 1}
		f.Data = append(bytes.Repeat([]byte("\n"), line), f.Data...) // what reads it counts the archive's lines
		p.file(f)
		line += 1 + lines
	}
	if !p.wants {
		p.fail(1, "no want.yaml: nothing would be checked")
	}
	if p.scenario.Config == nil {
		p.config([]byte("{}"))
	}
	p.checkServiceImportCRD()
	p.scenario.Mistakes = errors.Join(p.errs...)
	return p.scenario
}

// checkServiceImportCRD refuses what cannot be played: ServiceImport is served or
// not for a whole scenario.
func (p *parser) checkServiceImportCRD() {
	begun := false
	for i := range p.scenario.Steps {
		step := &p.scenario.Steps[i]
		for _, document := range step.Documents {
			if document.isServiceImportCRD() && (step.Kind != Delete || begun) {
				p.fail(document.Origin.Line, "the definition of ServiceImport can only be deleted, before anything is applied")
			}
		}
		begun = begun || step.Kind == Apply || step.Kind == Want
	}
}

type parser struct {
	scenario *Scenario
	// at is the first line of the file that is being read.
	at manifest.Origin
	// applied is the index of the last apply.yaml, if it has no verdicts yet.
	applied *Step
	// deleted is the same for the last delete.yaml.
	deleted *Step
	wants   bool
	errs    []error
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, failure(p.origin(line), format, args...))
}

// origin returns the place of a line of the archive.
func (p *parser) origin(line int) manifest.Origin {
	return manifest.Origin{File: p.at.File, Line: line}
}

// file reads one file by how its name ends.
func (p *parser) file(f txtar.File) {
	kinds := []StepKind{ConfigFile, Cluster, Apply, Delete, Want}
	i := slices.IndexFunc(kinds, func(kind StepKind) bool { return strings.HasSuffix(path.Base(f.Name), string(kind)) })
	if i < 0 {
		p.fail(p.at.Line-1, "file %q: its name must end in one of %v", f.Name, kinds)
		return
	}
	step := Step{Kind: kinds[i], Origin: p.at}
	switch step.Kind {
	case ConfigFile:
		if p.scenario.Config != nil {
			p.fail(p.at.Line-1, "file %q: there is a configuration already", f.Name)
		}
		p.config(f.Data)
		return
	case Want:
		p.wants = true
		p.want(&step, f.Data)
		p.applied, p.deleted = nil, nil
	default:
		p.documents(&step, f.Data)
		switch step.Kind {
		case Apply:
			p.applied = &step
		case Delete:
			p.deleted = &step
		}
	}
	p.scenario.Steps = append(p.scenario.Steps, step)
}

// config reads a configuration that leaves out what it does not change.
func (p *parser) config(data []byte) {
	fields := map[string]any{}
	err := yaml.UnmarshalStrict(data, &fields)
	if err == nil {
		whole := map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind}
		maps.Copy(whole, fields)
		p.scenario.Config, err = config.Load([]byte(compact(whole)))
	}
	if err != nil {
		p.fail(p.at.Line, "configuration: %w", err)
	}
}

// The annotations that say how a document is applied.
const (
	userAnnotation       = "scenario/user"
	dryRunAnnotation     = "scenario/dry-run"
	serverSideAnnotation = "scenario/server-side"
)

// documents reads the objects of a file. Routes in apply.yaml are not decoded yet:
// to refuse them may be what the scenario is about.
func (p *parser) documents(step *Step, data []byte) {
	objects, errs := manifest.ReadUndecoded(p.at.File, data, "default")
	p.errs = append(p.errs, errs...)
	for _, object := range objects {
		object.Origin.Line = object.Line("") // not that of its List
		document := &Document{Object: object}
		if object.Key.Kind == "" || object.Version == "" || object.Key.Name == "" {
			p.fail(object.Origin.Line, "not a Kubernetes object: it needs apiVersion, kind and metadata.name")
			continue
		}
		if err := document.strip(step.Kind); err != nil {
			p.fail(object.Origin.Line, "%w", err)
			continue
		}
		if object.IsRoute() && step.Kind == Cluster {
			if err := object.DecodeRoute(); err != nil {
				p.errs = append(p.errs, err)
				continue
			}
		}
		step.Documents = append(step.Documents, document)
	}
	if len(objects) == 0 && len(errs) == 0 {
		p.fail(p.at.Line, "%s has no documents", step.Kind)
	}
}

// strip takes the scenario's own annotations out of the object and sets its
// namespace.
func (d *Document) strip(kind StepKind) error {
	object, err := d.object()
	if err != nil {
		return err
	}
	if d.Key.Namespace != "" {
		object.SetNamespace(d.Key.Namespace)
	}
	found, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "annotations")
	annotations, _ := found.(map[string]any)
	for key, value := range annotations {
		if !strings.HasPrefix(key, "scenario/") {
			continue
		}
		text, _ := value.(string)
		on := text == "true"
		switch {
		case kind != Apply:
			return fmt.Errorf("annotation %s has a meaning in apply.yaml only", key)
		case key == userAnnotation && text != "":
			d.User = text
		case key == dryRunAnnotation && (on || text == "false"):
			d.DryRun = on
		case key == serverSideAnnotation && (on || text == "false"):
			d.ServerSide = on
		default:
			return fmt.Errorf(`annotation %s: %v: want %s: NAME, %s: "true" or %s: "true"`,
				key, value, userAnnotation, dryRunAnnotation, serverSideAnnotation)
		}
		delete(annotations, key)
	}
	if annotations != nil && len(annotations) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
	}
	d.JSON, err = json.Marshal(object.Object)
	return err
}
