package runner

import (
	"context"
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// Core plays scenarios over the core in memory: mutations, the engine, and the
// desired status, as Go values.
type Core struct{ schemas *schemas }

// NewCore returns the driver.
func NewCore(ctx context.Context) (*Core, error) {
	schemas, err := loadSchemas(ctx)
	return &Core{schemas}, err
}

// Name returns "core".
func (*Core) Name() string { return "core" }

// Begin starts with an empty memory.
func (d *Core) Begin(_ context.Context, scenario *Scenario) (Session, error) {
	engine, err := validate.New(scenario.Config.Policy())
	if err != nil {
		return nil, err
	}
	m := newMemory(d.schemas)
	return &memorySession{memory: m, admission: &coreAdmission{engine: engine, config: scenario.Config, set: m.set}}, nil
}

type coreAdmission struct {
	engine *validate.Engine
	config *config.GuardConfiguration
	set    *manifest.Set
}

func (a *coreAdmission) admit(_ context.Context, c *change, user validate.User, dryRun bool) (*Outcome, error) {
	route, text, err := decode(c.object)
	if err != nil {
		return nil, err
	}
	var changes []mutate.Change
	if c.old == nil || !c.specUnchanged() {
		changes = mutate.Changes(route, a.set, mutate.Options{
			Off:     a.config.DisabledMutations(),
			MayRead: mutate.Granted(route, &a.engine.Policy().Grants, a.set),
		})
	}
	if text, err = mutate.Apply(text, changes); err != nil {
		return nil, err
	}
	c.object = nil
	if err := json.Unmarshal(text, &c.object); err != nil {
		return nil, err
	}
	if route, _, err = decode(c.object); err != nil {
		return nil, err
	}
	verdict, err := a.engine.Judge(request(route, c, user, dryRun), a.set)
	if err != nil {
		return nil, err
	}
	return outcomeOf(changes, &verdict), nil
}

func request(route *mesh.Route, c *change, user validate.User, dryRun bool) *validate.Request {
	req := &validate.Request{Route: route, User: user, DryRun: dryRun}
	if c.old != nil {
		req.Old = func() (*mesh.Route, error) {
			old, _, err := decode(c.old)
			return old, err
		}
		req.SpecUnchanged = c.specUnchanged
	}
	return req
}

// specUnchanged says whether an update leaves the spec as it is.
func (c *change) specUnchanged() bool { return reflect.DeepEqual(c.object["spec"], c.old["spec"]) }

// outcomeOf tells the outcome as the user would read it.
func outcomeOf(changes []mutate.Change, verdict *validate.Verdict) *Outcome {
	outcome := &Outcome{Denied: verdict.Denied(), Rules: []string{}, Warnings: []string{}}
	var lines []string
	for i := range changes {
		outcome.Warnings = append(outcome.Warnings, changes[i].ID)
		lines = append(lines, "Warning: "+changes[i].Warning())
	}
	for i := range verdict.Findings {
		switch finding := &verdict.Findings[i]; finding.Effect {
		case validate.Deny:
			outcome.Rules = append(outcome.Rules, finding.Rule)
			lines = append(lines, finding.FieldError().Error())
		case validate.Warn:
			outcome.Warnings = append(outcome.Warnings, finding.Rule)
			lines = append(lines, "Warning: "+finding.Warning())
		}
	}
	for _, name := range verdict.UnknownIgnores {
		lines = append(lines, "Warning: "+validate.UnknownIgnore(name))
	}
	outcome.Rules = sortedOnce(outcome.Rules)
	outcome.Warnings = sortedOnce(outcome.Warnings)
	outcome.Text = strings.Join(lines, "\n")
	return outcome
}

func sortedOnce(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// decode reads a route from an object, and returns its JSON too.
func decode(object map[string]any) (*mesh.Route, []byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	route, err := mesh.DecodeRoute(text)
	return route, text, err
}

func (a *coreAdmission) entries(route *manifest.Object) ([]Entry, string, error) {
	return desiredEntries(route, a.set, a.config)
}

func (*coreAdmission) close() error { return nil }

// desiredEntries returns the entries that the reconciler would write.
func desiredEntries(route *manifest.Object, world mesh.World, c *config.GuardConfiguration) (entries []Entry, controller string, err error) {
	controller = c.Status.ControllerName
	engine, err := validate.New(c.Policy())
	if err != nil {
		return nil, "", err
	}
	found, _, err := desired.NewView(engine, world, desired.Settings(c.Status)).Entries(route.Route.Attached())
	if err != nil {
		return nil, "", err
	}
	var spec struct {
		Spec struct {
			ParentRefs []stdjson.RawMessage `json:"parentRefs"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(route.JSON, &spec); err != nil {
		return nil, "", err
	}
	for _, entry := range found {
		entries = append(entries, Entry{
			Parent:     spec.Spec.ParentRefs[entry.Ref],
			Controller: controller,
			Conditions: []Condition{Condition(entry.Condition)},
		})
	}
	return entries, controller, nil
}
