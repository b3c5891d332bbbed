package source

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// maxTrials bounds how often a chart is rendered again to find where values come from.
const maxTrials = 32

// given is a value in a file of values.
type given struct {
	// index is that of the file among the chart's or, with values, among those that override its values.
	values     bool
	index      int
	place      report.Place
	root, node *yaml.Node
	// changed is the node with other values, once it was tried what the chart renders to
	// with it, and rendered is that.
	changed  *yaml.Node
	rendered map[string]build.Rendered
}

// sets returns where a file of values gives the field of a rendered object its value: the
// one place that, if it is changed, changes the field accordingly.
func (r *rendering) sets(template string, object *manifest.Object, field string, value any) (place report.Place, found bool) {
	text, isText := value.(string)
	whole := func(g *given) bool {
		var v any
		return g.node.Kind == yaml.ScalarNode && g.node.Value == fmt.Sprint(value) || g.node.Decode(&v) == nil && same(v, value)
	}
	part := func(g *given) bool {
		return isText && g.node.Kind == yaml.ScalarNode && g.node.Value != "" && strings.Contains(text, g.node.Value)
	}
	for _, candidate := range []func(*given) bool{whole, part} {
		var at []*given
		for _, g := range r.givens() {
			if candidate(g) && r.follows(g, template, object, field, value) {
				at = append(at, g)
			}
		}
		if len(at) > 0 {
			return at[0].place, len(at) == 1
		}
	}
	return place, false
}

// givens returns all that the files of values give: those that override the chart's, the
// chart's, and those of the charts in it.
func (r *rendering) givens() []*given {
	if r.given != nil {
		return r.given
	}
	add := func(file *build.File, path string, values bool, index int) {
		var root yaml.Node
		var decoded any
		if yaml.Unmarshal(file.Data, &root) == nil && root.Decode(&decoded) == nil && len(root.Content) == 1 {
			of := given{values: values, index: index, place: report.Place{File: path}, root: &root, node: root.Content[0]}
			of.walk(func(g given) { r.given = append(r.given, &g) })
		}
	}
	for i := range r.chart.Values {
		add(&r.chart.Values[i], r.chart.Values[i].Name, true, i)
	}
	for i := range r.chart.Files {
		file := &r.chart.Files[i]
		if file.Name == "values.yaml" || path.Base(file.Name) == "values.yaml" && strings.HasPrefix(file.Name, "charts/") {
			add(file, filepath.Join(r.folder, filepath.FromSlash(file.Name)), false, i)
		}
	}
	return r.given
}

// walk visits the fields and items of the value, and theirs.
func (g *given) walk(visit func(given)) {
	for i, child := range g.node.Content {
		at := *g
		at.node, at.place.Line = child, child.Line
		if g.node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			at.place.Line = g.node.Content[i-1].Line // that of the name
		}
		visit(at)
		at.walk(visit)
	}
}

// follows reports whether a change of what is given shows in the field.
func (r *rendering) follows(g *given, template string, object *manifest.Object, field string, before any) bool {
	if !r.try(g) {
		return false
	}
	objects, _ := manifest.ReadUndecoded(template, []byte(g.rendered[template].Text), r.chart.Namespace)
	i := slices.IndexFunc(objects, func(o *manifest.Object) bool {
		return o.Origin.Document == object.Origin.Document && o.Key.Kind == object.Key.Kind
	})
	if i < 0 {
		return false
	}
	var want any
	after, _, found := objects[i].Field(field)
	if !found || same(after, before) || g.changed.Decode(&want) != nil {
		return false
	}
	return same(after, want) || g.changed.Kind == yaml.ScalarNode && strings.Contains(fmt.Sprint(after), g.changed.Value)
}

// try renders the chart with what is given changed, once; not if there were too many such
// trials, or nothing to change.
func (r *rendering) try(g *given) bool {
	if g.changed != nil {
		return g.rendered != nil
	}
	g.changed = changed(g.node)
	if r.trials == maxTrials || same(g.changed, g.node) {
		return false
	}
	r.trials++
	original := *g.node
	*g.node = *g.changed
	content, err := yaml.Marshal(g.root)
	*g.node = original
	if err == nil {
		g.rendered, err = r.again(g.values, g.index, content)
	}
	return err == nil
}

// changed returns a copy of the node in which each scalar has another value of its type.
func changed(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	other := *node
	other.Content = nil
	for i, child := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			child = changed(child)
		}
		other.Content = append(other.Content, child)
	}
	if node.Kind != yaml.ScalarNode {
		return &other
	}
	switch number, err := strconv.Atoi(node.Value); {
	case err == nil && number == -1: // 0 may count as none
		other.Value = "-2"
	case err == nil:
		other.Value = strconv.Itoa(number + 1)
	case node.ShortTag() == "!!bool":
		other.Value = strconv.FormatBool(!strings.EqualFold(node.Value, "true"))
	case node.ShortTag() == "!!str":
		other.Value += "x"
	}
	return &other
}
