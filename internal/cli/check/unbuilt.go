package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// unbuiltNotices say which kustomizations and charts were read as plain files, and the flag that builds them, or the field of a project.
func (l *loaded) unbuiltNotices() []report.Notice {
	switch {
	case l.options.isBase:
		return unbuiltNotices(l.unbuilt, unbuiltBase)
	case l.options.projected:
		return unbuiltNotices(l.unbuilt, unbuiltSet)
	}
	return unbuiltNotices(l.unbuilt, func(build, flag string, folders []string) string {
		if l.options.Root != "" { // a revision has other names for them than the user
			return fmt.Sprintf("to %s one, name it with %s as it is now, or name no input", build, flag)
		}
		if len(folders) == 1 {
			return fmt.Sprintf("to %s it, use %s %s", build, flag, printable.Shell(folders[0]))
		}
		return fmt.Sprintf("to %s one, name it with %s", build, flag)
	})
}

// unbuiltNotices say which kustomizations and charts were read as plain files, and what to do to have them built.
func unbuiltNotices(all []source.Unbuilt, remedy func(build, flag string, folders []string) string) (notices []report.Notice) {
	note := func(name string, folders []string, kind, build, flag string) {
		switch len(folders) {
		case 0:
		case 1:
			text := fmt.Sprintf("its %s is read as plain files; %s", kind, remedy(build, flag, folders))
			notices = append(notices, report.Notice{Path: filepath.ToSlash(folders[0]), Message: text})
		default:
			text := fmt.Sprintf("%d %ss are read as plain files: %s; %s", len(folders), kind, firstOf(folders), remedy(build, flag, folders))
			notices = append(notices, report.Notice{Path: filepath.ToSlash(name), Message: text})
		}
	}
	for _, u := range all {
		note(u.Name, u.Kustomizations, "kustomization", "build", "-k")
		for _, folder := range u.Components {
			notices = append(notices, report.Notice{Path: filepath.ToSlash(folder), Message: "its component is read as plain files; a kustomization that uses it builds it"})
		}
		note(u.Name, u.Charts, "Helm chart", "render", "--helm")
	}
	return notices
}

// unbuiltBase is the remedy for what --base names, unbuiltSet that for files of a set, and unbuiltContext that for context.
func unbuiltBase(build, flag string, _ []string) string {
	return fmt.Sprintf("to %s one, name it with --base, and the input with %s", build, flag)
}

func unbuiltSet(build, flag string, folders []string) string {
	what, field := "it", "kustomization"
	if len(folders) > 1 {
		what = "one"
	}
	if flag == "--helm" {
		field = "chart"
	}
	return fmt.Sprintf("to %s %s, name it in sets of %s as %s, and not in files", build, what, sets.ProjectFile, field)
}

func unbuiltContext(string, string, []string) string {
	return sets.ProjectFile + " names it as context, which is not built: name manifests there"
}

// baseToBuild returns an error if the base has kustomizations or charts that are built for none of the sets.
func baseToBuild(options *Options, all []sets.Set) error {
	whole := *options
	for i := range all {
		over := options.Over(&all[i])
		whole.Kustomizations, whole.Charts = append(whole.Kustomizations, over.Kustomizations...), append(whole.Charts, over.Charts...)
	}
	return asBuilt(whole.Before(options.Base), options.Base, "to list new findings, use gammaguard diff --base; to check updates, name one of them with --base, and the same one of this version with -k or --helm")
}

// unlike returns an error if the input is built and the base is not, though it has what could be: each route would be another one.
func unlike(before, after *Options, base []string, more string) error {
	if len(after.Kustomizations)+len(after.Charts) == 0 || len(before.Kustomizations)+len(before.Charts) > 0 {
		return nil
	}
	return asBuilt(before, base, "name the one of the input with --base"+more)
}

// asBuilt returns an error if the version before has kustomizations or charts that are read as plain files, with what to do about it.
func asBuilt(before *Options, base []string, todo string) error {
	folders := source.ToBuild(before.Files)
	if len(folders) == 0 {
		return nil
	}
	return fmt.Errorf("--base %s: its kustomizations and charts are not built: %s; %s", base[0], firstOf(folders), todo)
}

// hinted returns one error of all, of which the last says what was read as plain files: why something may not be in the input.
func (l *loaded) hinted(errs ...error) error {
	var hints []string
	for _, n := range l.unbuiltNotices() {
		hints = append(hints, n.Path+": "+n.Message)
	}
	switch hint := strings.Join(hints, "; "); {
	case hint == "":
	case len(errs) == 0:
		return errors.New(hint)
	default:
		errs[len(errs)-1] = fmt.Errorf("%w; %s", errs[len(errs)-1], hint)
	}
	return errors.Join(errs...)
}

// unreadable returns one error of all, in the words of reports. That a template cannot be read follows from its chart.
func (l *loaded) unreadable(errs []error) error {
	if errors.Join(errs...) == nil {
		return nil
	}
	var told []error
	for _, err := range errs {
		at, broken := errors.AsType[*manifest.Error](err)
		switch {
		case err == nil:
			continue
		case broken && slices.ContainsFunc(l.unbuilt, func(u source.Unbuilt) bool { return u.Template(at.File) }):
			continue
		case broken:
			err = &manifest.Error{Origin: at.Origin, Err: errors.New(wording(at.Err))}
		}
		told = append(told, err)
	}
	return l.hinted(told...)
}
