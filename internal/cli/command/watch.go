package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// quiet is how long files must stay as they are before they are checked again: many a
// change comes as several.
const quiet = 100 * time.Millisecond

// runWatch checks, and again whenever files change, until the context is done.
func (f *checkFlags) runWatch(cmd *cobra.Command) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("--watch: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	f.options.ReadFile = func(path string, read func(string) ([]byte, error)) ([]byte, error) {
		if err := watcher.Add(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--watch: %w", err)
		}
		return read(path)
	}
	for {
		again, access := *f, *f.access // the project may say otherwise each time
		again.access = &access
		err := again.watchInput(watcher)
		if err == nil {
			err = again.runOnce(cmd)
		}
		if err != nil && !errors.Is(err, errFindings) {
			printError(cmd.ErrOrStderr(), err)
		}
		printable.Row(cmd.ErrOrStderr(), "waiting for changes; press Ctrl+C to stop")
		if err := f.changed(cmd.Context(), watcher); err != nil {
			return err
		}
		if cmd.Context().Err() != nil {
			return nil
		}
	}
}

// watchInput watches the folders of the input, where files may be added. The folders of
// files that are read elsewhere follow.
func (f *checkFlags) watchInput(watcher *fsnotify.Watcher) error {
	paths := slices.Concat(f.paths, f.options.Files, f.options.Kustomizations, f.options.Base, f.options.CRDs, f.chart.Values)
	if f.chart.Path != "" {
		paths = append(paths, f.chart.Path)
	}
	if f.access.config.path != "" {
		paths = append(paths, f.access.config.path)
	}
	if project, err := sets.FindProject(f.start(f.paths...)); err == nil && project != nil { // else the check says so
		paths = slices.Concat(paths, project.ForAll(), widened(f.paths, project.Above))
	}
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // the check says so
			case !entry.IsDir() && path == root:
				return watcher.Add(filepath.Dir(path))
			case !entry.IsDir():
				return nil
			case path != root && sets.PassedOver(entry.Name()):
				return filepath.SkipDir
			}
			return watcher.Add(path)
		})
		if err != nil {
			return fmt.Errorf("--watch: %w", err)
		}
	}
	return nil
}

// changed waits until files changed that are not written by the command, and until they
// stay as they are, or the context is done.
func (f *checkFlags) changed(ctx context.Context, watcher *fsnotify.Watcher) error {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-settled:
			return nil
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("--watch: %w", err)
			}
			settled = time.After(quiet)
		case event := <-watcher.Events:
			if f.matters(event) {
				settled = time.After(quiet)
			}
		}
	}
}

// matters reports whether the event may change what a check finds: not a change of
// permissions alone, of an editor's own files, or of what the command writes.
func (f *checkFlags) matters(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	hidden := strings.HasPrefix(name, ".") && name != sets.ProjectFile && !strings.HasSuffix(name, "ignore")
	if event.Op == fsnotify.Chmod || hidden || strings.HasSuffix(name, "~") {
		return false
	}
	for _, output := range f.outputs.named {
		if output.file != "" && sameFile(output.file, event.Name) {
			return false
		}
	}
	return true
}

func sameFile(a, b string) bool {
	absoluteA, errA := filepath.Abs(a)
	absoluteB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absoluteA == absoluteB
}
