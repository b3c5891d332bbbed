package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// unknown is what is not known about a namespace.
type unknown struct {
	namespace, remedy string
	// missing reads "is not in the input".
	missing string
	first   Place
	// lacks are the objects that the input lacks, and rules the rules that depend on them.
	lacks, rules map[string]bool
	places       map[Place]bool
}

// unknowns returns what is unknown, by namespaces. Findings that do not say what they lack are not among them.
func (r *CheckReport) unknowns() []*unknown {
	of := map[[3]string]*unknown{}
	for i := range r.Routes {
		route := &r.Routes[i]
		for j := range route.Findings {
			f := &route.Findings[j]
			if f.Effect != EffectUnknown || f.Lacks == "" {
				continue
			}
			missing := strings.TrimPrefix(f.Problem, f.Lacks+" ")
			at := [3]string{cmp.Or(f.Reference.Service.Namespace, f.Reference.Namespace, route.Namespace), f.Remedy, missing}
			place := Place{cmp.Or(f.File, route.File), f.Line}
			if of[at] == nil {
				of[at] = &unknown{at[0], at[1], missing, place, map[string]bool{}, map[string]bool{}, map[Place]bool{}}
			}
			of[at].lacks[f.Lacks], of[at].rules[f.Rule], of[at].places[place] = true, true, true
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b *unknown) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.remedy, b.remedy), cmp.Compare(a.missing, b.missing))
	})
}

// maxLacks is how many objects one line names.
const maxLacks = 8

// UnknownRemedy is how to make known what the input lacks.
const UnknownRemedy = "add it to the input or to context in " + projectFile + ", or use --base, --cluster, or, if it does not exist, --complete"

// UnknownAlone is UnknownRemedy for a command that reads neither a base nor a cluster besides the input.
const UnknownAlone = "add it to the input or to context in " + projectFile + ", or, if it does not exist, use --complete"

// projectFile is the name of the file that says how a repository is checked.
const projectFile = ".gammaguard.yaml"

// inPlural has a remedy speak of several objects.
var inPlural = strings.NewReplacer("is not in", "are not in", "add it", "add them", "read it", "read them", "it does", "they do")

// String reads "Namespace shop, Service cart are not in the input; add them to the input ... (grant-missing,
// parent-not-found)".
func (u *unknown) String() string {
	remedy := u.remedy
	if len(u.lacks) > 1 {
		remedy = inPlural.Replace(remedy)
	}
	return fmt.Sprintf("%s; %s (%s)", u.fact(), remedy, u.ruleNames())
}

// fact reads "Namespace shop, Service cart are not in the input".
func (u *unknown) fact() string {
	var lacks []string
	for name := range u.lacks {
		if name == "namespace "+u.namespace {
			name = "Namespace " + u.namespace
		}
		lacks = append(lacks, strings.Replace(name, " "+u.namespace+"/", " ", 1))
	}
	slices.Sort(lacks) // the Namespace comes before its Services
	if more := len(lacks) - maxLacks; more > 0 {
		lacks = append(lacks[:maxLacks], fmt.Sprintf("and %d more", more))
	}
	missing := u.missing
	if len(lacks) > 1 {
		missing = inPlural.Replace(missing)
	}
	return strings.Join(lacks, ", ") + " " + missing
}

func (u *unknown) ruleNames() string { return strings.Join(slices.Sorted(maps.Keys(u.rules)), ", ") }

// remedies returns the remedies of all, each as a sentence, which says for which namespaces it is where there are several of both.
func remedies(all []*unknown) (sentences []string) {
	lacks, of, one := map[string]int{}, map[string][]string{}, true
	for _, u := range all {
		one = one && u.namespace == all[0].namespace
		lacks[u.remedy] += len(u.lacks)
		if names := of[u.remedy]; !slices.Contains(names, u.namespace) {
			of[u.remedy] = append(names, u.namespace)
		}
	}
	for _, remedy := range slices.Sorted(maps.Keys(lacks)) {
		names, whose := of[remedy], "For namespace "
		if lacks[remedy] > 1 {
			remedy = inPlural.Replace(remedy)
		}
		if one || len(of) == 1 {
			sentences = append(sentences, strings.ToUpper(remedy[:1])+remedy[1:]+".")
			continue
		}
		if len(names) > 1 {
			whose = "For namespaces "
		}
		if more := len(names) - maxLacks; more > 0 {
			names = append(names[:maxLacks], fmt.Sprintf("and %d more", more))
		}
		sentences = append(sentences, whose+strings.Join(names, ", ")+": "+remedy+".")
	}
	return sentences
}

// item is the line about the namespace, at the first place that depends on it.
func (u *unknown) item() Item {
	return Item{
		Place: u.first, ID: slices.Min(slices.Collect(maps.Keys(u.rules))), Effect: EffectUnknown, Word: string(EffectUnknown),
		Object: "namespace " + u.namespace, Text: printable.Text(u.String()),
	}
}

// lines returns the items, with one for each namespace of which something is unknown.
func (r *CheckReport) lines() []Item {
	all := slices.DeleteFunc(r.Items(), func(i Item) bool { return i.lacks })
	for _, u := range r.unknowns() {
		all = append(all, u.item())
	}
	return all
}

// told splits the lines into what was found, what is unknown about routes, and what is unknown about namespaces.
func (r *CheckReport) told() (found, others []Item, namespaces []*unknown) {
	for _, i := range r.Items() {
		switch {
		case i.Effect == validate.Off, i.lacks:
		case i.Effect == EffectUnknown:
			others = append(others, i)
		default:
			found = append(found, i)
		}
	}
	return found, others, r.unknowns()
}
