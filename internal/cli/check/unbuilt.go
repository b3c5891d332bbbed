package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// unbuiltNotices say which kustomizations and charts were read as plain files, and the flag that builds them.
func (l *loaded) unbuiltNotices() (notices []report.Notice) {
	note := func(name string, folders []string, kind, build, flag string) {
		switch len(folders) {
		case 0:
		case 1:
			text := fmt.Sprintf("its %s is read as plain files; to %s it, use %s %s", kind, build, flag, argument(folders[0]))
			notices = append(notices, report.Notice{Path: filepath.ToSlash(folders[0]), Message: text})
		default:
			text := fmt.Sprintf("%d %ss are read as plain files: %s; to %s one, name it with %s", len(folders), kind, firstOf(folders), build, flag)
			notices = append(notices, report.Notice{Path: filepath.ToSlash(name), Message: text})
		}
	}
	for _, u := range l.unbuilt {
		note(u.Name, u.Kustomizations, "kustomization", "build", "-k")
		note(u.Name, u.Charts, "Helm chart", "render", "--helm")
	}
	return notices
}

// argument returns the path as a word of a shell.
func argument(path string) string {
	if names := strings.ReplaceAll(path, "/", ""); printable.Shell(names) == names {
		return path
	}
	return printable.Shell(path)
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
