package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// wantFile is want.yaml. The nodes keep the lines, for messages.
type wantFile struct {
	Apply  []placed[applyWant]  `yaml:"apply"`
	Status []placed[statusWant] `yaml:"status"`
}

type applyWant struct {
	Verdict  string      `yaml:"verdict"`
	Rules    *[]string   `yaml:"rules"`
	Warnings *[]string   `yaml:"warnings"`
	Message  string      `yaml:"message"`
	Object   yamlv3.Node `yaml:"object"`
}

type statusWant struct {
	Route   string       `yaml:"route"`
	Entries *[]entryWant `yaml:"entries"`
}

type entryWant struct {
	Parent   yamlv3.Node `yaml:"parent"`
	Accepted string      `yaml:"accepted"`
	Reason   string      `yaml:"reason"`
	Partial  string      `yaml:"partial"`
	Message  string      `yaml:"message"`
}

// placed is a value of want.yaml with its line.
type placed[T any] struct {
	line  int
	value T
}

// UnmarshalYAML keeps the line. Unknown keys are refused here: a decoder that is
// strict is not so for types that unmarshal themselves.
func (p *placed[T]) UnmarshalYAML(node *yamlv3.Node) error {
	p.line = node.Line
	data, err := yamlv3.Marshal(node)
	if err != nil {
		return err
	}
	if err := decodeStrict(data, &p.value); err != nil {
		return &lineError{node.Line, err}
	}
	return nil
}

// lineError is a mistake in the entry that begins at the line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

func decodeStrict(data []byte, to any) error {
	decoder := yamlv3.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(to); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// want reads want.yaml. Its verdicts are those of the last apply.yaml.
func (p *parser) want(step *Step, data []byte) {
	var file wantFile
	if err := decodeStrict(data, &file); err != nil {
		p.wantError(err)
		return
	}
	if file.Apply == nil && file.Status == nil {
		p.fail(p.at, "want.yaml has neither apply nor status")
	}
	if file.Apply != nil {
		p.verdicts(file.Apply)
	}
	for i := range file.Status {
		if status := p.status(p.line(file.Status[i].line), &file.Status[i].value); status != nil {
			step.Status = append(step.Status, status)
		}
	}
}

// wantError reports a mistake at its own line if it names one.
func (p *parser) wantError(err error) {
	var at *lineError
	if errors.As(err, &at) {
		message := strings.Join(strings.Fields(strings.TrimPrefix(at.err.Error(), "yaml: ")), " ")
		p.fail(p.line(at.line), "want.yaml, in the entry that begins here: %s", yamlLine.ReplaceAllString(message, ""))
		return
	}
	at = &lineError{line: 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			at.line = n
		}
	}
	p.fail(p.line(at.line), "want.yaml: %s", strings.Join(strings.Fields(yamlLine.ReplaceAllString(err.Error(), "")), " "))
}

// verdicts gives each applied document its verdict.
func (p *parser) verdicts(wants []placed[applyWant]) {
	if p.applied == nil {
		p.fail(p.line(wants0(wants)), "apply: there is no apply.yaml before it whose verdicts these could be")
		return
	}
	documents := p.applied.Documents
	if len(documents) != len(wants) {
		p.fail(p.line(wants0(wants)), "apply: %d verdicts for the %d documents at %s", len(wants), len(documents), p.applied.Place)
		return
	}
	for i := range wants {
		documents[i].Want = p.verdict(p.line(wants[i].line), &wants[i].value)
	}
}

func wants0[T any](wants []placed[T]) int {
	if len(wants) == 0 {
		return 1
	}
	return wants[0].line
}

func (p *parser) verdict(at Place, want *applyWant) *Verdict {
	v := &Verdict{Place: at, Message: want.Message}
	switch want.Verdict {
	case "admit":
		if want.Rules != nil && len(*want.Rules) > 0 {
			p.fail(at, "rules: an admitted document has none that denied")
		}
	case "deny":
		v.Deny = true
		if !want.Object.IsZero() {
			p.fail(at, "object: there is none after a denial")
		}
	default:
		p.fail(at, "verdict: %q: want admit or deny", want.Verdict)
	}
	if want.Rules != nil {
		v.Rules = p.ids(at, "rules", *want.Rules, rules())
	}
	if want.Warnings != nil {
		v.Warnings = p.ids(at, "warnings", *want.Warnings, append(rules(), mutate.Names()...))
	}
	if !want.Object.IsZero() {
		v.Object = p.json(at, "object", &want.Object)
	}
	return v
}

// rules returns the ID of every rule.
func rules() []string {
	var ids []string
	for _, rule := range validate.Catalogue() {
		ids = append(ids, rule.ID)
	}
	return ids
}

// ids returns the IDs sorted, each once, and never nil.
func (p *parser) ids(at Place, key string, ids, known []string) []string {
	sorted := []string{}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			p.fail(at, "%s: unknown ID %q", key, id)
		}
		sorted = append(sorted, id)
	}
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// json reads a node as manifests are read.
func (p *parser) json(at Place, key string, node *yamlv3.Node) any {
	var value any
	data, err := yamlv3.Marshal(node)
	if err == nil {
		err = yaml.Unmarshal(data, &value)
	}
	if err != nil {
		p.fail(at, "%s: %w", key, err)
	}
	return value
}

func (p *parser) status(at Place, want *statusWant) *RouteStatus {
	part := strings.Split(want.Route, "/")
	if len(part) != 3 || !mesh.IsRouteKind(part[0]) || slices.Contains(part, "") {
		p.fail(at, "route: %q: want KIND/NAMESPACE/NAME, such as HTTPRoute/shop/cart", want.Route)
		return nil
	}
	key := manifest.Key{Group: mesh.GatewayGroup, Kind: part[0], Namespace: part[1], Name: part[2]}
	if !slices.ContainsFunc(p.scenario.documents(), func(d *Document) bool { return d.Key == key }) {
		p.fail(at, "route: no document before is %s", key)
		return nil
	}
	if want.Entries == nil {
		p.fail(at, "entries: missing; [] says that there are none")
		return nil
	}
	status := &RouteStatus{Place: at, Route: key}
	for i := range *want.Entries {
		entry := &(*want.Entries)[i]
		for _, condition := range []string{entry.Accepted, entry.Partial} {
			if !slices.Contains([]string{"", "True", "False", "Unknown"}, condition) {
				p.fail(at, `entries[%d]: a condition is "True", "False" or "Unknown", not %q`, i, condition)
			}
		}
		if cmp.Or(entry.Accepted, entry.Partial) == "" {
			p.fail(at, "entries[%d]: it needs accepted or partial: an entry without a condition says nothing", i)
		}
		want := WantEntry{Accepted: entry.Accepted, Reason: entry.Reason, Partial: entry.Partial, Message: entry.Message}
		if !entry.Parent.IsZero() {
			want.Parent = p.json(at, fmt.Sprintf("entries[%d].parent", i), &entry.Parent)
		}
		status.Entries = append(status.Entries, want)
	}
	return status
}
