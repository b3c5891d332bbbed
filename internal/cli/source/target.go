package source

import (
	"cmp"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/gammaguard/gammaguard/internal/manifest"
)

// target is which objects a patch is for: of what the kustomization says, or, where that says nothing, the one that the patch names.
type target struct {
	selector types.Selector
	regex    *types.SelectorRegex
	// name is the name in the selector as a text.
	name string
	// labels and annotations select by these; nil selects all.
	labels, annotations labels.Selector
}

// newTarget returns the target; nil where no object is one, as kustomize says of it.
func newTarget(selector types.Selector) *target {
	t := &target{selector: selector, name: selector.Name}
	var errs [3]error
	t.regex, errs[0] = types.NewSelectorRegex(&t.selector)
	t.labels, errs[1] = labels.Parse(selector.LabelSelector)
	t.annotations, errs[2] = labels.Parse(selector.AnnotationSelector)
	if errs != [3]error{} {
		return nil
	}
	return t
}

// named returns the target that is the object of the patch; nil if it names none.
func named(patch *manifest.Object) *target {
	if patch.Key.Kind == "" || patch.Key.Name == "" {
		return nil
	}
	t := newTarget(types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Group: regexp.QuoteMeta(patch.Key.Group), Kind: regexp.QuoteMeta(patch.Key.Kind)}, Name: regexp.QuoteMeta(patch.Key.Name)}})
	t.name = patch.Key.Name
	return t
}

// selects reports whether the target is what the document was made of, before the affix was put around its name: kustomize takes the name and the
// namespace that it has by then, or that it had at first. Its labels are those that it had at first, if that is known.
func (t *target) selects(d *Document, later affix) bool {
	if t == nil || !t.regex.MatchGvk(resid.Gvk{Group: d.Key.Group, Version: d.Version, Kind: d.Key.Kind}) {
		return false
	}
	then := strings.TrimSuffix(strings.TrimPrefix(d.Key.Name, later.prefix), later.suffix)
	first := cmp.Or(d.Written, d.Object)
	switch {
	case t.regex.MatchName(then), t.regex.MatchName(first.Key.Name):
	case d.Written != nil, !strings.Contains(then, t.name):
		return false
	}
	return (t.regex.MatchNamespace(d.Key.Namespace) || t.regex.MatchNamespace(first.Key.Namespace)) &&
		matches(t.labels, first, "metadata.labels") && matches(t.annotations, first, "metadata.annotations")
}

// matches reports whether the texts of a map of the object match.
func matches(selector labels.Selector, o *manifest.Object, path string) bool {
	if selector.Empty() {
		return true
	}
	texts := labels.Set{}
	fields, _, _ := o.Field(path)
	of, _ := fields.(map[string]any)
	for name, value := range of {
		texts[name], _ = value.(string)
	}
	return selector.Matches(texts)
}
