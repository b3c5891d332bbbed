package check

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/cli/fix"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// proposal is the edit that makes a change of a route in the file that it is written in, or why there is none.
type proposal struct {
	report.Place
	edit *report.Edit
	why  string
}

// proposer finds the proposals.
type proposer struct {
	*loaded
	input *source.Input
	files map[string]*editable
	// order are the files by the routes in them.
	order []*editable
}

// editable is a file with the changes that concern it.
type editable struct {
	name string
	data []byte
	// text is the data in UTF-8, and fixed is the text with the changes that can be made.
	text, fixed string
	jobs        []fix.Job
	// proposals are those of the changes of each job.
	proposals [][]*proposal
	at        map[source.Place]int
	// objects are those that are written in the file of a chart, by their JSON.
	objects map[string]*manifest.Object
}

// propose finds a proposal for each change of each route, also for those that the webhook does not make, and returns the files
// that these concern.
func (l *loaded) propose(input *source.Input) []*editable {
	x := &proposer{loaded: l, input: input, files: map[string]*editable{}}
	for _, r := range l.routes {
		if r.canary == nil && len(r.plan.Changes) > 0 { // else it is in no file
			x.add(r)
		}
	}
	for _, f := range x.order {
		fixed, edits, refused := fix.Apply(f.text, f.jobs)
		f.fixed = fixed
		for i, of := range f.proposals {
			for j, p := range of {
				if err := refused[i][j]; err != nil {
					p.why = err.Error()
				} else {
					p.edit = position(f.text, edits[i][j])
				}
			}
		}
	}
	return x.order
}

// add adds the changes of a route to the file that it is written in.
func (x *proposer) add(r *route) {
	name := r.file.Name
	var object *manifest.Object
	why := "it is not written in a file of the repository; change what makes it"
	f := x.file(name)
	if f != nil {
		object, why = x.written(r, f)
	}
	r.proposals = make([]*proposal, len(r.plan.Changes))
	for i := range r.plan.Changes {
		change := &r.plan.Changes[i]
		p := &proposal{Place: r.Place(r.file, change.Path), why: why}
		switch {
		case object == nil:
		case r.file.Kustomization() == "" || x.sameAround(r, object, change.Path):
			p.Place = report.Place{File: name, Line: object.Line(change.Path)}
			p = f.add(object, change, p)
		case p.File == name:
			p.why = "the kustomization changes what is around it, such as by a patch; write the change there"
		default:
			p.why = "it is set here, not in " + name + "; write it here"
		}
		r.proposals[i] = p
	}
}

// file returns the file, as it is on the disk or open in its place; nil if there is none.
func (x *proposer) file(name string) *editable {
	f, known := x.files[name]
	if !known && name != report.Stdin {
		if data, err := x.input.Disk.Read(name); err == nil {
			f = &editable{name: name, data: data, text: string(yaml.UTF8(data)), at: map[source.Place]int{}}
			x.order = append(x.order, f)
		}
	}
	x.files[name] = f
	return f
}

// written returns the route as it is written in the file, or why that is not known.
func (x *proposer) written(r *route, f *editable) (object *manifest.Object, why string) {
	switch {
	case !r.file.Built():
		return r.Object, ""
	case r.file.Kustomization() != "" && r.Written == nil:
		return nil, "its source is not found; kustomize may have changed its name or kind"
	case r.file.Kustomization() != "":
		return r.Written, ""
	}
	if f.objects == nil {
		f.objects = map[string]*manifest.Object{}
		objects, _ := manifest.ReadUndecoded(f.name, f.data, "") // what can be read
		for _, o := range slices.Backward(objects) {
			f.objects[string(o.JSON)] = o
		}
	}
	if object = f.objects[string(r.JSON)]; object == nil {
		why = "a template makes it; change the template or the values"
	}
	return object, why
}

// add adds a change of an object, and returns its proposal, which may be there: a base may be in the set more than once.
func (f *editable) add(object *manifest.Object, change *mutate.Change, p *proposal) *proposal {
	spot := source.PlaceOf(object)
	i, known := f.at[spot]
	if !known {
		i = len(f.jobs)
		f.at[spot] = i
		f.jobs, f.proposals = append(f.jobs, fix.Job{Object: object}), append(f.proposals, nil)
	}
	job := &f.jobs[i]
	if j := slices.Index(job.Changes, *change); j >= 0 {
		return f.proposals[i][j]
	}
	job.Changes, f.proposals[i] = append(job.Changes, *change), append(f.proposals[i], p)
	return p
}

// sameAround reports whether what the change depends on is the same in the source, but for the names that kustomize gave to
// Services: the parentRefs, and the fields beside it.
func (x *proposer) sameAround(r *route, source *manifest.Object, field string) bool {
	around := field[:max(0, strings.LastIndexByte(field, '.'))]
	for _, path := range []string{"spec.parentRefs", around} {
		a, _, _ := r.Field(path)
		b, _, found := source.Field(path)
		if !found || !x.sameRefs(r, a, b) {
			return false
		}
	}
	return true
}

// sameRefs reports whether a value of the route is that of its source, with what kustomize made of the names of Services in
// references.
func (x *proposer) sameRefs(r *route, built, source any) bool {
	switch source := source.(type) {
	case []any:
		list, _ := built.([]any)
		return slices.EqualFunc(list, source, func(a, b any) bool { return x.sameRefs(r, a, b) })
	case map[string]any:
		fields, _ := built.(map[string]any)
		name, _ := source["name"].(string)
		kind, _ := source["kind"].(string)
		namespace, _ := fields["namespace"].(string)
		of := mesh.ServiceKey{Kind: cmp.Or(kind, mesh.ServiceKind), Namespace: cmp.Or(namespace, r.Key.Namespace), Name: name}
		if renamed := x.renamed[renamedKey{r.file.Kustomization(), of}]; renamed != "" && fields["name"] == renamed {
			source = maps.Clone(source)
			source["name"] = renamed
		}
		return reflect.DeepEqual(fields, source)
	}
	return reflect.DeepEqual(built, source)
}

// position returns the edit by lines and columns.
func position(text string, e fix.Edit) *report.Edit {
	at := func(offset int) (line, column int) {
		before := text[:offset]
		start := strings.LastIndexByte(before, '\n') + 1
		return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
	}
	edit := &report.Edit{Text: e.Text}
	edit.StartLine, edit.StartColumn = at(e.From)
	edit.EndLine, edit.EndColumn = at(e.To)
	return edit
}
