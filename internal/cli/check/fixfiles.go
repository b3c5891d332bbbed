package check

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/fix"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// fix writes the mutations into the files that they concern, also those that the webhook
// does not make. Where one file cannot
// be fixed, all stay as they are.
func (l *loaded) fix(input *source.Input, hold func() (release func())) ([]report.Fixed, error) {
	jobs := map[*source.File][]fix.Job{}
	var fixed []report.Fixed
	for _, r := range l.routes {
		if r.expanded {
			continue // it is in no file
		}
		if len(r.plan.Changes) > 0 {
			jobs[r.file] = append(jobs[r.file], fix.Job{Object: r.Object, Changes: r.plan.Changes})
		}
		r.plan = mutate.Plan{Changes: r.plan.Changes, Mode: mesh.Enforce} // in the files, all are made
		made, _ := changesOf(r)
		for _, change := range made {
			fixed = append(fixed, report.Fixed{File: r.file.Name, Route: r.Key.String(), Change: change})
		}
	}
	texts := map[*source.File]string{}
	var errs []error
	for _, f := range l.files {
		if jobs[f] == nil {
			continue
		}
		data, err := input.Files.Read(f.Name)
		if err == nil {
			texts[f], err = rewritten(data, jobs[f])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: cannot be fixed: %w", f.Name, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if hold != nil {
		defer hold()()
	}
	for f, text := range texts {
		if err := overwrite(f.Name, text); err != nil {
			return nil, err
		}
	}
	return fixed, nil
}

// rewritten returns the content of a file with the changes made; a byte order mark stays.
func rewritten(data []byte, jobs []fix.Job) (string, error) {
	text := yaml.UTF8(data)
	mark, ok := bytes.CutSuffix(data, text)
	if !ok {
		return "", errors.New("it is in UTF-16; convert it to UTF-8")
	}
	fixed, err := fix.Apply(string(text), jobs)
	return string(mark) + fixed, err
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
