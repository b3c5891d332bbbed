package check

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/check/fix"
	"github.com/gammaguard/gammaguard/check/report"
)

// fix writes the mutations into the files that they concern. A file that cannot be
// fixed stays as it is, and so do all others then.
func (c *checker) fix() ([]report.Fixed, error) {
	jobs := map[*file][]fix.Job{}
	var fixed []report.Fixed
	for _, r := range c.routes {
		if len(r.changes) == 0 {
			continue
		}
		if r.file.data == nil {
			return nil, fmt.Errorf("%s: --fix writes into files only, not into standard input or what kustomize builds", r.file.name)
		}
		jobs[r.file] = append(jobs[r.file], fix.Job{Object: r.Object, Changes: r.changes})
		for _, change := range changesOf(r) {
			fixed = append(fixed, report.Fixed{
				Place: report.Place{File: r.file.name, Line: change.Line}, Route: r.Key.String(),
				Mutation: change.Mutation, Field: change.Field, Value: change.Value, Message: change.Message,
			})
		}
	}
	texts := map[*file]string{}
	var errs []error
	for _, f := range c.files {
		if jobs[f] == nil {
			continue
		}
		text, err := fix.Apply(string(f.data), jobs[f])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: cannot be fixed: %w", f.name, err))
		}
		texts[f] = text
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, f := range c.files {
		if text, changed := texts[f]; changed {
			if err := overwrite(f.name, f.data, []byte(text)); err != nil {
				return nil, err
			}
		}
	}
	return fixed, nil
}

// overwrite puts the new content in the place of the old in one step: the file is
// never seen half written. A symbolic link stays one.
func overwrite(name string, old, content []byte) (err error) {
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
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
		return errors.Join(fmt.Errorf("%s: changed while it was being fixed: run it again", name), err)
	}
	return os.Rename(temporary.Name(), path)
}
