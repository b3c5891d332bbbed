package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
	"github.com/gammaguard/gammaguard/validate"
)

// TestScenarios plays every scenario through files on disk. What each applied
// document leads to must be as wanted, and word for word what the core in memory
// says.
func TestScenarios(t *testing.T) {
	scenarios, err := runner.Load("../../../test/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	core, err := runner.NewCore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			for _, failure := range runner.Play(t.Context(), &files{t: t, core: core}, scenario) {
				t.Error(failure)
			}
		})
	}
}

// files is the driver that writes a scenario to disk.
type files struct {
	t    *testing.T
	core runner.Driver
}

func (d *files) Name() string { return "check" }

func (d *files) Begin(ctx context.Context, scenario *runner.Scenario) (runner.Session, error) {
	core, err := d.core.Begin(ctx, scenario)
	return &filesSession{
		Session: core, t: d.t, scenario: scenario, folder: d.t.TempDir(),
		stored: map[manifest.Key]*object{}, serviceImports: true,
	}, err
}

// filesSession holds what is stored as one file each, and runs check over what is
// applied. The embedded session is that of the core, for comparison.
type filesSession struct {
	runner.Session
	t        *testing.T
	scenario *runner.Scenario
	folder   string
	stored   map[manifest.Key]*object
	created  int
	// serviceImports: the kind is served.
	serviceImports bool
}

// object is what is stored, and what was applied last.
type object struct {
	file            string
	stored, applied []byte
}

var serviceImportCRD = manifest.Key{
	Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "serviceimports.multicluster.x-k8s.io",
}

func (s *filesSession) Put(ctx context.Context, documents []*runner.Document) error {
	if err := s.Session.Put(ctx, documents); err != nil {
		return err
	}
	for _, document := range documents {
		merged, _, err := s.merge(document)
		if err == nil {
			err = s.store(document, merged)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merge returns what kubectl apply makes of the document, and whether that changes
// anything.
func (s *filesSession) merge(document *runner.Document) (merged []byte, changed bool, err error) {
	old := s.stored[document.Key]
	if old == nil {
		return document.JSON, true, nil
	}
	patch := document.JSON
	if !document.ServerSide {
		if patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(old.applied, document.JSON, old.stored); err != nil {
			return nil, false, err
		}
	}
	merged, err = jsonpatch.MergePatch(old.stored, patch)
	return merged, !jsonEqual(old.stored, merged) || document.ServerSide, err
}

func jsonEqual(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (s *filesSession) store(document *runner.Document, stored []byte) error {
	o := s.stored[document.Key]
	if o == nil {
		s.created++
		o = &object{file: filepath.Join(s.folder, fmt.Sprintf("stored-%04d.yaml", s.created))}
		s.stored[document.Key] = o
	}
	stored, err := jsonpatch.MergePatch(stored, fmt.Appendf(nil, `{"metadata":{"uid":%q}}`, filepath.Base(o.file)))
	if err != nil {
		return err
	}
	o.stored, o.applied = stored, document.JSON
	if document.Key == serviceImportCRD {
		s.serviceImports = true
	}
	return write(o.file, stored)
}

func write(file string, text []byte) error {
	text, err := yaml.JSONToYAML(text)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func (s *filesSession) Delete(ctx context.Context, document *runner.Document) ([]string, error) {
	warnings, err := s.Session.Delete(ctx, document)
	if err != nil {
		return nil, err
	}
	for key, o := range s.stored {
		inside := document.Key.Kind == "Namespace" && key.Namespace == document.Key.Name
		imports := document.Key == serviceImportCRD && key.Kind == "ServiceImport"
		if key != document.Key && !inside && !imports {
			continue
		}
		gone, err := s.remove(key, o)
		if err != nil {
			return nil, err
		}
		if gone {
			delete(s.stored, key)
		}
	}
	if document.Key == serviceImportCRD {
		s.serviceImports = false
	}
	return warnings, nil
}

// remove removes the object's file. An object with finalizers stays, with a
// deletionTimestamp.
func (s *filesSession) remove(key manifest.Key, o *object) (gone bool, err error) {
	var stored metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.stored, &stored); err != nil {
		return false, fmt.Errorf("%s: %w", key, err)
	}
	if len(stored.Finalizers) == 0 {
		return true, os.Remove(o.file)
	}
	if o.stored, err = jsonpatch.MergePatch(o.stored, []byte(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`)); err != nil {
		return false, err
	}
	return false, write(o.file, o.stored)
}

// options are those of a check of one folder or file.
func (s *filesSession) options(path string) *check.Options {
	return &check.Options{
		Files: []string{path}, Config: s.scenario.Config, Complete: true, NoServiceImports: !s.serviceImports, Serves: runner.Serves,
	}
}

func (s *filesSession) Apply(ctx context.Context, document *runner.Document) (*runner.Outcome, error) {
	want, err := s.Session.Apply(ctx, document)
	if err != nil {
		return nil, err
	}
	merged, changed, err := s.merge(document)
	if err != nil {
		return nil, err
	}
	if want == nil { // no route, or denied by others
		if document.IsRoute() || document.DryRun {
			return nil, nil
		}
		return nil, s.store(document, merged)
	}
	got := &runner.Outcome{Rules: []string{}, Warnings: []string{}}
	if changed {
		if got, merged, err = s.check(ctx, document, merged); err != nil {
			return nil, err
		}
		// Admission does not hear of an update that changes nothing that counts, defaults included;
		// check reports what holds all the same. A grant that is missing warns only then.
		isReported := func(id string) bool { return slices.Contains(got.Warnings, id) }
		if old := s.stored[document.Key]; old != nil && !want.Denied && !slices.ContainsFunc(want.Warnings, func(id string) bool { return !isReported(id) }) &&
			(mesh.Unchanged(old.stored, merged) || slices.Equal(got.Warnings, []string{validate.RuleGrantMissing})) {
			got.Warnings, got.Text, got.Previews = want.Warnings, want.Text, want.Previews
		}
	}
	if len(got.Previews) == 0 { // files do not say what was there before
		got.AddPreviews(want.Previews)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(runner.Outcome{}, "Object")); diff != "" {
		s.t.Errorf("%s: %s: core and check differ (-core +check)\n%s", document.Origin, document.Key, diff)
	}
	if !got.Denied && !document.DryRun {
		err = s.store(document, merged)
	}
	return got, err
}

// check runs check --fix over the object in a file of its own, and returns what the
// file holds then.
func (s *filesSession) check(ctx context.Context, document *runner.Document, object []byte) (*runner.Outcome, []byte, error) {
	file := filepath.Join(s.folder, "applied", "route.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), write(file, object)); err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(file)) }()
	options := s.options(file)
	for _, o := range s.stored {
		options.Base = append(options.Base, o.file)
	}
	slices.Sort(options.Base)
	options.DryRun, options.User = document.DryRun, runner.UserOf(document.User)
	r, err := check.Run(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	outcome, err := outcomeOf(r)
	if err != nil {
		return nil, nil, err
	}
	options.Fix = true
	if r, err = check.Run(ctx, options); err != nil {
		return nil, nil, err
	}
	if r.Summary.Changes > 0 {
		return nil, nil, fmt.Errorf("--fix left changes: %+v", r.Routes)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	fixed, err := yaml.YAMLToJSON(text)
	return outcome, fixed, err
}

// Status checks all that is stored together, as it is stored.
func (s *filesSession) Status(ctx context.Context, key manifest.Key, _ func([]runner.Entry) bool) ([]runner.Entry, error) {
	options := s.options(s.folder)
	stored := *s.scenario.Config
	stored.Mutations = map[string]config.Switch{}
	for _, id := range mutate.Names() {
		stored.Mutations[id] = config.Off
	}
	options.Config = &stored
	r, err := check.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(r.Routes, func(route report.Route) bool {
		return string(route.Kind) == key.Kind && route.Namespace == key.Namespace && route.Name == key.Name
	})
	if at < 0 {
		return nil, fmt.Errorf("no %s in the report", key)
	}
	text, err := json.Marshal(r.Routes[at].Status.Parents)
	if err != nil {
		return nil, err
	}
	var entries []runner.Entry
	err = json.Unmarshal(text, &entries)
	return entries, err
}
