package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// screen is an output that one can wait for.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func newScreen() *screen { return &screen{news: make(chan struct{}, 1)} }

// Write shows more.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	select {
	case s.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await waits for the words, in this order, and wipes the screen.
func (s *screen) await(t *testing.T, words ...string) {
	t.Helper()
	deadline := time.After(time.Minute) // only a failure takes so long
	for {
		s.mu.Lock()
		text := s.text.String()
		rest, found := text, true
		for _, word := range words {
			_, after, has := strings.Cut(rest, word)
			rest, found = after, found && has
		}
		if found {
			s.text.Reset()
			s.text.WriteString(rest)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		select {
		case <-s.news:
		case <-deadline:
			t.Fatalf("want %q in %q", words, text)
		}
	}
}

// TestWatch runs the example of --watch: files that change, come and go are checked, errors
// do not end it, and what the command writes itself changes nothing.
func TestWatch(t *testing.T) {
	const (
		good    = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {parentRefs: [{name: cart, kind: Service, group: \"\"}]}\n"
		waiting = "waiting for changes"
	)
	example := ""
	for line := range strings.Lines(checkExamples) {
		if strings.Contains(line, "--watch") {
			example = strings.TrimSpace(line)
		}
	}
	folder := written(t, map[string]string{"routes/a.yaml": good, "later/.keep": ""})
	t.Chdir(folder)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := newScreen()
	root := New("gammaguard", genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out})
	root.SetArgs(append(strings.Fields(example)[1:], "-o", "text", "-o", "sarif=found.json"))
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	change := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.FromSlash(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out.await(t, "1 route in 1 file", waiting)
	change("routes/a.yaml", strings.ReplaceAll(good, `, group: ""`, ""))
	out.await(t, "parent-group", "1 change", waiting)
	change("later/b.yaml", strings.ReplaceAll(good, "name: a", "name: b"))
	out.await(t, "2 routes in 2 files", waiting)
	change(".gammaguard.yaml", "kind: Nonsense\n")
	out.await(t, "error: .gammaguard.yaml:1: apiVersion and kind must be", waiting)
	for _, name := range []string{".gammaguard.yaml", "later/b.yaml"} {
		if err := os.Remove(filepath.FromSlash(name)); err != nil {
			t.Fatal(err)
		}
	}
	out.await(t, "1 route in 1 file", waiting)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("it ended with: %v", err)
	}
	if report, err := os.ReadFile("found.json"); err != nil || !strings.Contains(string(report), "parent-group") {
		t.Errorf("found.json: %v\n%s", err, report)
	}
	if got := run(t, "", "check", "-f", "-", "--watch"); got.code != ExitUsage || !strings.Contains(got.stderr, "--watch cannot be used with standard input") {
		t.Errorf("with standard input: %+v", got)
	}
}

// TestOwnChanges: what the command writes does not have it check again, nor do the files
// that editors keep for themselves.
func TestOwnChanges(t *testing.T) {
	f := checkFlags{outputs: outputs{formats: reportFormats}}
	if err := f.outputs.Set("sarif=found.json"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"routes.yaml": true, "./found.json": false, ".routes.yaml.swp": false, "routes.yaml~": false, ".gammaguard.yaml": true, ".gitignore": true, ".helmignore": true,
	} {
		if got := f.matters(fsnotify.Event{Name: name, Op: fsnotify.Write}); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
