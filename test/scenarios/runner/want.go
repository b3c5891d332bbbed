package runner

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// wantFile is want.yaml.
type wantFile struct {
	Apply  []applyWant  `yaml:"apply"`
	Delete [][]string   `yaml:"delete"`
	Status []statusWant `yaml:"status"`
}

type applyWant struct {
	Verdict  string   `yaml:"verdict"`
	Rules    []string `yaml:"rules"`
	Warnings []string `yaml:"warnings"`
	Message  string   `yaml:"message"`
	Object   Partial  `yaml:"object"`
}

type statusWant struct {
	Route   string      `yaml:"route"`
	Entries []WantEntry `yaml:"entries"`
}

// UnmarshalYAML reads it as manifests are read.
func (p *Partial) UnmarshalYAML(node *yamlv3.Node) error {
	data, err := yamlv3.Marshal(node)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(data, (*map[string]any)(p))
}

// wantLines has the nodes of the same lists, for their lines.
type wantLines struct {
	Apply  []yamlv3.Node `yaml:"apply"`
	Delete []yamlv3.Node `yaml:"delete"`
	Status []yamlv3.Node `yaml:"status"`
}

// want reads want.yaml. Its verdicts are those of the last apply.yaml, and its deletions those of
// the last delete.yaml.
func (p *parser) want(step *Step, data []byte) {
	var (
		file  wantFile
		lines wantLines
	)
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	err := decoder.Decode(&file)
	if err == nil {
		err = yamlv3.Unmarshal(data, &lines)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		p.wantErrors(err)
		return
	}
	if file.Apply == nil && file.Delete == nil && file.Status == nil {
		p.fail(p.at.Line, "want.yaml has neither apply, delete nor status")
	}
	if file.Apply != nil {
		p.verdicts(file.Apply, lines.Apply)
	}
	if file.Delete != nil {
		p.deletions(file.Delete, lines.Delete)
	}
	for i := range file.Status {
		if status := p.status(lines.Status[i].Line, &file.Status[i]); status != nil {
			step.Status = append(step.Status, status)
		}
	}
}

// wantErrors reports each mistake at its own line, as far as it names one.
func (p *parser) wantErrors(err error) {
	mistakes := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if several := new(yamlv3.TypeError); errors.As(err, &several) {
		mistakes = several.Errors
	}
	for _, mistake := range mistakes {
		line := p.at.Line
		if n, _ := fmt.Sscanf(mistake, "line %d:", &line); n == 1 {
			_, mistake, _ = strings.Cut(mistake, ": ")
		}
		p.fail(line, "want.yaml: %s", mistake)
	}
}

// verdicts gives each applied document its verdict.
func (p *parser) verdicts(wants []applyWant, nodes []yamlv3.Node) {
	at := p.at.Line
	if len(nodes) > 0 {
		at = nodes[0].Line
	}
	if p.applied == nil {
		p.fail(at, "apply: there is no apply.yaml before it whose verdicts these could be")
		return
	}
	documents := p.applied.Documents
	if len(documents) != len(wants) {
		p.fail(at, "apply: %d verdicts for the %d documents at %s", len(wants), len(documents), p.applied.Origin)
		return
	}
	for i := range wants {
		documents[i].Want = p.verdict(nodes[i].Line, &wants[i])
	}
}

// deletions gives each deleted document its warnings.
func (p *parser) deletions(wants [][]string, nodes []yamlv3.Node) {
	at := p.at.Line
	if len(nodes) > 0 {
		at = nodes[0].Line
	}
	if p.deleted == nil || len(p.deleted.Documents) != len(wants) {
		p.fail(at, "delete: want a list of warnings for each document of the delete.yaml before it")
		return
	}
	for i := range wants {
		p.deleted.Documents[i].Deletion = &Deletion{p.origin(nodes[i].Line), wants[i]}
	}
}

func (p *parser) verdict(at int, want *applyWant) *Verdict {
	v := &Verdict{Origin: p.origin(at), Deny: want.Verdict == "deny", Message: want.Message, Object: want.Object}
	switch {
	case !v.Deny && want.Verdict != "admit":
		p.fail(at, "verdict: %q: want admit or deny", want.Verdict)
	case v.Deny && want.Object != nil:
		p.fail(at, "object: there is none after a denial")
	case !v.Deny && len(want.Rules) > 0:
		p.fail(at, "rules: an admitted document has none that denied")
	}
	if want.Rules != nil {
		v.Rules = p.ids(at, "rules", want.Rules, ruleIDs())
	}
	if want.Warnings != nil {
		v.Warnings = p.ids(at, "warnings", want.Warnings, append(ruleIDs(), mutate.Names()...))
	}
	return v
}

// ruleIDs returns the ID of every rule.
func ruleIDs() []string {
	var ids []string
	for _, rule := range rules.Catalog() {
		ids = append(ids, rule.ID)
	}
	return ids
}

// ids returns the IDs as sorted does.
func (p *parser) ids(at int, key string, ids, known []string) []string {
	for _, id := range ids {
		if !slices.Contains(known, id) {
			p.fail(at, "%s: unknown ID %q", key, id)
		}
	}
	return sorted(ids)
}

// sorted returns the IDs sorted, each once, and never nil.
func sorted(ids []string) []string {
	ids = append([]string{}, ids...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (p *parser) status(at int, want *statusWant) *RouteStatus {
	part := strings.Split(want.Route, "/")
	if len(part) != 3 || !mesh.IsRouteKind(part[0]) || slices.Contains(part, "") {
		p.fail(at, "route: %q: want KIND/NAMESPACE/NAME, such as HTTPRoute/shop/cart", want.Route)
		return nil
	}
	key := manifest.Key{Group: mesh.GatewayGroup, Kind: part[0], Namespace: part[1], Name: part[2]}
	if !slices.ContainsFunc(p.scenario.Documents(), func(d *Document) bool { return d.Key == key }) {
		p.fail(at, "route: no document before is %s", key)
		return nil
	}
	if want.Entries == nil {
		p.fail(at, "entries: missing; [] says that there are none")
		return nil
	}
	for i, entry := range want.Entries {
		for _, condition := range []string{entry.Accepted, entry.Resolved, entry.Partial} {
			if !slices.Contains([]string{"", "True", "False", "Unknown"}, condition) {
				p.fail(at, `entries[%d]: a condition is "True", "False" or "Unknown", not %q`, i, condition)
			}
		}
		if cmp.Or(entry.Accepted, entry.Resolved, entry.Partial) == "" {
			p.fail(at, "entries[%d]: it needs accepted, resolved or partial: an entry without a condition says nothing", i)
		}
	}
	return &RouteStatus{Origin: p.origin(at), Route: key, Entries: want.Entries}
}
