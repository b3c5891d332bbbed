package lsp

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/validate"
)

// worker checks, and publishes what it finds.
type worker struct {
	*server
	// open are the documents of the check under way.
	open map[string]*document
	sets []*checkedSet
	// searches are what the sets are from.
	searches []*sets.Found
	// complaint is what is wrong with the settings of a folder, as it was last shown.
	complaint string
	// published are what the client was last told about each file.
	published map[string]*protocol.PublishDiagnosticsParams
}

// checkedSet is a set, and what was found in it.
type checkedSet struct {
	sets.Set
	options *check.Options
	// read are the files that it was read from; nil before the first check.
	read   map[string]bool
	report *report.CheckReport
}

// work checks whenever something changed, until the context is done.
func (s *server) work(ctx context.Context) {
	w := &worker{server: s, published: map[string]*protocol.PublishDiagnosticsParams{}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for changed, anew := w.begin(); anew || len(changed) > 0; changed, anew = w.begin() {
			w.check(ctx, changed, anew)
			if ctx.Err() != nil {
				return
			}
			w.publish(ctx)
		}
	}
}

// begin returns what changed since the last time; if nothing did, the server is idle.
func (w *worker) begin() (changed map[string]bool, anew bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed, anew = w.changed, w.anew
	w.changed, w.anew, w.open = map[string]bool{}, false, maps.Clone(w.documents)
	if len(changed) == 0 && !anew {
		select {
		case <-w.idle:
		default:
			close(w.idle)
		}
	}
	return changed, anew
}

// check checks all sets anew, or those that were read from a file that changed, or could
// not be built.
func (w *worker) check(ctx context.Context, changed map[string]bool, anew bool) {
	if anew {
		w.discover(ctx)
	}
	for _, s := range w.sets {
		stale := s.report == nil || len(s.report.Skipped) > 0
		for path := range changed {
			stale = stale || s.read[path]
		}
		if stale && ctx.Err() == nil {
			w.run(ctx, s)
		}
	}
}

// run checks one set.
func (w *worker) run(ctx context.Context, s *checkedSet) {
	var mu sync.Mutex
	s.read = map[string]bool{}
	options := *s.options
	options.ReadFile = func(path string, read func(string) ([]byte, error)) ([]byte, error) {
		mu.Lock()
		s.read[canonical(path)] = true
		mu.Unlock()
		return w.readFile(path, read)
	}
	r, err := check.RunSets(ctx, &options, &sets.Found{Sets: []sets.Set{s.Set}})
	if r == nil {
		r = report.New()
		r.Skipped = []report.Skipped{{Path: s.Path, Reason: err.Error()}}
	}
	s.report = r
}

// readFile reads a file, or the document that is open in its place.
func (w *worker) readFile(path string, read func(string) ([]byte, error)) ([]byte, error) {
	if d := w.open[canonical(path)]; d != nil {
		return []byte(d.text), nil
	}
	return read(path)
}

// discover looks for the sets: in the folders that are open, and in open documents outside
// of them.
func (w *worker) discover(ctx context.Context) {
	w.sets, w.searches = nil, nil
	complaint := ""
	for _, path := range w.paths() {
		options, project, err := w.settings.Options(path)
		var found *sets.Found
		if err == nil {
			options.ReadFile, options.Propose, options.Unflagged = w.readFile, true, true
			found, err = check.FindSets(ctx, options, []string{path}, project)
		}
		if err != nil {
			complaint = err.Error()
			continue
		}
		for _, set := range found.Sets {
			w.sets = append(w.sets, &checkedSet{Set: set, options: options})
		}
		w.searches = append(w.searches, found)
	}
	if complaint != w.complaint && complaint != "" {
		_ = w.client.ShowMessage(context.Background(), &protocol.ShowMessageParams{Type: protocol.MessageTypeError, Message: "gammaguard: " + complaint})
	}
	w.complaint = complaint
}

// paths returns where sets are looked for.
func (w *worker) paths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Clone(w.roots)
	for _, path := range slices.Sorted(maps.Keys(w.open)) {
		if _, err := os.Stat(path); err == nil && !w.inRoots(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// inRoots reports whether the path is in one of the folders that are open.
func (s *server) inRoots(path string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool {
		return strings.HasPrefix(path, root+string(filepath.Separator))
	})
}

// items returns all that was found, by file.
func (w *worker) items(ctx context.Context) map[string][]report.Item {
	all := report.New()
	items := w.skipped(ctx)
	for _, s := range w.sets {
		all.Merge(s.report)
		for _, skipped := range s.report.Skipped {
			items = append(items, notChecked(s.File(), skipped.Reason, validate.Warn))
		}
	}
	found := map[string][]report.Item{}
	for _, item := range append(items, all.Items()...) {
		if item.Effect != validate.Off {
			path := canonical(item.File)
			found[path] = append(found[path], item)
		}
	}
	return found
}

// skipped returns what is left aside outside of sets.
func (w *worker) skipped(ctx context.Context) (items []report.Item) {
	for _, found := range w.searches {
		unread, _ := found.Unread(ctx)
		for _, s := range slices.Concat(found.Skipped, unread) {
			if info, err := os.Stat(s.Path); err == nil && !info.IsDir() && s.Reason != report.NotManifest {
				items = append(items, notChecked(s.Path, s.Reason, validate.Audit))
			}
		}
	}
	return items
}

func notChecked(file, reason string, effect validate.Action) report.Item {
	return report.Item{Place: report.Place{File: file, Line: 1}, Effect: effect, Text: "not checked: " + reason}
}

// canonical returns the path by which a file is known, however it is named.
func canonical(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// pathOf returns the path of a file; empty for what is not a file.
func pathOf(of uri.URI) string {
	if !strings.HasPrefix(string(of), "file:") {
		return ""
	}
	return canonical(of.FsPath())
}
