package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/fix"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// fixing is what is to be written into files.
type fixing struct {
	*loaded
	input *source.Input
	files map[string]*fixedFile
	// order are the names of the files.
	order    []string
	notFixed []report.NotFixed
}

// fixedFile is a file with the changes that concern it.
type fixedFile struct {
	data []byte
	jobs []fix.Job
	// told are the changes of each job, as they are reported.
	told [][]report.Fixed
	at   map[source.Place]int
}

// fix writes the mutations into the files that they concern, also those that the webhook
// does not make, and returns those that it wrote, and those that it cannot write.
func (l *loaded) fix(input *source.Input, hold func() (release func())) (fixed []report.Fixed, notFixed []report.NotFixed, _ error) {
	x := &fixing{loaded: l, input: input, files: map[string]*fixedFile{}}
	for _, r := range l.routes {
		if !r.expanded && len(r.plan.Changes) > 0 { // else it is in no file
			x.add(r)
		}
	}
	texts := map[string]string{}
	for _, name := range x.order {
		f := x.files[name]
		text := yaml.UTF8(f.data)
		mark, ok := bytes.CutSuffix(f.data, text)
		if !ok {
			for _, told := range f.told {
				x.refuse(told, "the file is in UTF-16; convert it to UTF-8")
			}
			continue
		}
		after, refused := fix.Apply(string(text), f.jobs)
		if after != string(text) {
			texts[name] = string(mark) + after
		}
		for i, told := range f.told {
			for j := range told {
				if refused[i][j] == nil {
					fixed = append(fixed, told[j])
				} else {
					x.refuse(told[j:j+1], refused[i][j].Error())
				}
			}
		}
	}
	if hold != nil && len(texts) > 0 {
		defer hold()()
	}
	for _, name := range x.order {
		if text, changed := texts[name]; changed {
			if err := overwrite(name, text); err != nil {
				return nil, nil, err
			}
		}
	}
	return fixed, x.notFixed, nil
}

func (x *fixing) refuse(told []report.Fixed, reason string) {
	for i := range told {
		x.notFixed = append(x.notFixed, report.NotFixed{Fixed: told[i], Reason: reason})
	}
}

// add adds the changes of a route to the file that it is written in.
func (x *fixing) add(r *route) {
	r.plan = mutate.Plan{Changes: r.plan.Changes, Mode: mesh.Enforce} // in the files, all are made
	made, _ := changesOf(r)
	var told []report.Fixed
	for i := range made {
		place := r.Place(r.file, made[i].Field)
		made[i].Line = place.Line
		told = append(told, report.Fixed{File: place.File, Route: r.Key.String(), Change: made[i]})
	}
	name := r.file.Name
	f, err := x.file(name)
	if err != nil {
		x.refuse(told, err.Error())
		return
	}
	object, why := x.written(r, f.data)
	if object == nil {
		x.refuse(told, why)
		return
	}
	for i := range told {
		change := &r.plan.Changes[i]
		if r.file.Kustomization() != "" && !x.sameAround(r, object, change.Path) {
			why := "the kustomization changes what is around it, such as by a patch; write the change there"
			if told[i].File != name {
				why = "it is set here, not in " + name + "; write it here"
			}
			x.refuse(told[i:i+1], why)
			continue
		}
		told[i].File, told[i].Line = name, object.Line(change.Path)
		f.add(object, change, &told[i])
	}
}

// file returns the file, as it is on the disk.
func (x *fixing) file(name string) (*fixedFile, error) {
	if x.files[name] == nil {
		data, err := x.input.Files.Read(name)
		if err != nil {
			return nil, errors.New("it is not written in a file of the repository; change what makes it")
		}
		x.files[name] = &fixedFile{data: data, at: map[source.Place]int{}}
		x.order = append(x.order, name)
	}
	return x.files[name], nil
}

// written returns the route as it is written in the file, or why that is not known.
func (x *fixing) written(r *route, data []byte) (object *manifest.Object, why string) {
	switch {
	case !r.file.Built():
		return r.Object, ""
	case r.file.Kustomization() != "" && r.Written == nil:
		return nil, "its source is not found; kustomize may have changed its name or kind"
	case r.file.Kustomization() != "":
		return r.Written, ""
	}
	objects, _ := manifest.ReadUndecoded(r.file.Name, data, r.Key.Namespace) // what can be read
	for _, o := range objects {
		if o.Key == r.Key && sameJSON(o.JSON, r.JSON) {
			return o, ""
		}
	}
	return nil, "a template makes it; change the template or the values"
}

// add adds a change of an object, unless it is there.
func (f *fixedFile) add(object *manifest.Object, change *mutate.Change, told *report.Fixed) {
	spot := source.PlaceOf(object)
	i, known := f.at[spot]
	if !known {
		i = len(f.jobs)
		f.at[spot] = i
		f.jobs, f.told = append(f.jobs, fix.Job{Object: object}), append(f.told, nil)
	}
	if !slices.Contains(f.jobs[i].Changes, *change) { // a base may be in the set more than once
		f.jobs[i].Changes, f.told[i] = append(f.jobs[i].Changes, *change), append(f.told[i], *told)
	}
}

// sameAround reports whether what the change depends on is the same in the source, but for the names that kustomize gave to
// Services: the parentRefs, and the fields beside it.
func (x *fixing) sameAround(r *route, source *manifest.Object, field string) bool {
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
func (x *fixing) sameRefs(r *route, built, source any) bool {
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

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// overwrite puts the content in the place of the old in one step: the file is never
// seen half written. A symbolic link stays one.
func overwrite(name, content string) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(content)
	if err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
