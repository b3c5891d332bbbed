//go:build unix

package repositories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/ci"
)

// What a command may take on such a repository.
const (
	maxTime   = 2 * time.Minute
	maxMemory = 1536 << 20
	maxOutput = 64 << 20 // printed, in bytes
)

var program string

// TestMain builds the program, or takes the one that GAMMAGUARD names, such as one of before.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if program = os.Getenv("GAMMAGUARD"); program != "" {
			return m.Run()
		}
		folder, err := os.MkdirTemp("", "gammaguard-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		program = filepath.Join(folder, "gammaguard")
		if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", program, "../../cmd/gammaguard").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
		return m.Run()
	}())
}

// TestRepositories plays every command on every repository.
func TestRepositories(t *testing.T) {
	ofSystems := systems(t)
	for _, of := range repositories() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			play(t, &of, ofSystems, nil)
		})
	}
}

// play plays every command on a repository, and what the systems run, each started by the words of the
// wrapper.
func play(t *testing.T, of *repository, ofSystems []script, wrapper []string) {
	heard := listen(t)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{
		t: t, root: filepath.Join(folder, "repository"), outside: filepath.Join(folder, "outside"), marker: filepath.Join(folder, "ran"),
		url: "http://" + heard.address, address: heard.address,
	}
	g.must(os.MkdirAll(g.root, 0o750))
	g.must(os.MkdirAll(g.outside, 0o750))
	g.git("init", "--quiet", "--template=")
	outside := strings.NewReplacer("name: cart,", "name: "+secret+",", `group: "", `, "").Replace(route) // --fix would change it
	for _, name := range []string{"outside.yaml", "fixed.yaml"} {
		g.must(os.WriteFile(filepath.Join(g.outside, name), []byte(outside), 0o600))
	}
	g.must(os.WriteFile(filepath.Join(g.outside, "kustomization.yaml"), []byte("resources: [outside.yaml]\n"), 0o600))
	of.make(g)
	before := listing(t, folder)
	for _, script := range slices.Concat(of.commands(), ofSystems) {
		script.Environment = append(slices.Clip(script.Environment), "GAMMAGUARD_FOLDER="+filepath.Join(t.TempDir(), "fetched"))
		got := run(t, g.root, wrapper, &script)
		if script.plain && (got.code != of.code || !strings.Contains(got.output, of.says)) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", script.Name, got.code, of.code, of.says, got.output)
		}
		if strings.Contains(got.output, secret) {
			t.Errorf("%s: shows what is outside: %s", script.Name, got.output)
		}
		script.collect(g)
	}
	edit(t, g.root, wrapper)
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(listing(t, folder), "\n")); diff != "" {
		t.Errorf("files changed (-before +after):\n%s", diff)
	}
	if n := heard.calls.Load(); n > 0 {
		t.Errorf("it connected %d times", n)
	}
}

// commands are all that read such a repository, but those that the CI systems run.
func (r *repository) commands() (scripts []script) {
	all := [][]string{{"check", "--strict"}, {"check", "-o", "json", "-o", "sarif", "."}, {"check", "--fix"}, {"diff", "--base", "."}, {"diff", "--base-ref", "HEAD"}, {"test"}}
	inputs := [][]string{}
	for flag, path := range map[string]string{"-f": r.files, "-k": r.kustomization, "--helm": r.chart} {
		if path != "" {
			inputs = append(inputs, []string{flag, path})
		}
	}
	if r.fix != "" {
		all = append(all, []string{"check", "--fix", "-f", r.fix}, []string{"check", "-f", r.fix}, []string{"check", "-f", "m", "--fix"})
	}
	for _, input := range inputs {
		all = append(
			all,
			append([]string{"check"}, input...), append([]string{"graph"}, input...), append([]string{"trace", "service/cart:80"}, input...),
			append([]string{"diff", "--base", input[1]}, input...), append([]string{"diff", "--base-ref", "HEAD"}, input...),
			append([]string{"test"}, input...), append([]string{"test", "--init", "-"}, input...),
		)
	}
	for _, args := range all {
		scripts = append(scripts, script{Script: ci.Script{Name: strings.Join(args, " "), Words: append([]string{program}, args...)}})
	}
	return scripts
}

// outcome is what became of a command.
type outcome struct {
	code   int
	output string
}

// run runs what is to be run in the folder, and fails if it takes more than it may.
func run(t *testing.T, folder string, wrapper []string, script *script) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxTime)
	defer cancel()
	words := slices.Concat(wrapper, script.Words)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var output bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = filepath.Join(folder, script.Folder), strings.NewReader(""), &output, &output
	cmd.Env = slices.Concat(os.Environ(), script.Environment, []string{"KUBECONFIG=" + os.DevNull, "GOMEMLIMIT=", "GOGC="})
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s: takes longer than %v", script.Name, maxTime)
	} else if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; peak > maxMemory {
		t.Errorf("%s: takes %d MiB", script.Name, peak>>20)
	}
	if output.Len() > maxOutput {
		t.Errorf("%s: prints %d MiB", script.Name, output.Len()>>20)
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 && code <= 2 {
		return outcome{code, output.String()}
	}
	t.Errorf("%s: %v: %s", script.Name, cmd.ProcessState, output.String()[:min(output.Len(), 2000)])
	return outcome{-1, output.String()}
}

// edit has an editor open the folder: it waits for what the server finds.
func edit(t *testing.T, folder string, wrapper []string) {
	t.Helper()
	var in bytes.Buffer
	for _, message := range []map[string]any{
		{"id": 1, "method": "initialize", "params": map[string]any{"processId": nil, "capabilities": map[string]any{}, "rootUri": "file://" + folder}},
		{"method": "initialized", "params": map[string]any{}},
		{"id": 2, "method": "textDocument/hover", "params": map[string]any{
			"textDocument": map[string]any{"uri": "file://" + folder + "/a.yaml"}, "position": map[string]any{"line": 0, "character": 0},
		}},
	} {
		message["jsonrpc"] = "2.0"
		text, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	// The input ends once the hover was answered, and the server with it.
	reader, writer := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), maxTime)
	defer cancel()
	words := append(append(append([]string{}, wrapper...), program), "lsp")
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	answered := &waiter{until: []byte(`"id":2`), then: func() { _ = writer.Close() }}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.WaitDelay = folder, reader, answered, time.Second
	go func() { _, _ = writer.Write(in.Bytes()) }()
	if err := cmd.Run(); err != nil || !answered.found {
		t.Errorf("lsp: %v: %s", err, answered.seen.String())
	}
	if strings.Contains(answered.seen.String(), secret) {
		t.Errorf("lsp: shows what is outside: %s", answered.seen.String())
	}
}

// waiter waits for a text in what is written to it.
type waiter struct {
	until []byte
	then  func()
	seen  bytes.Buffer
	found bool
}

// Write looks for the text.
func (w *waiter) Write(p []byte) (int, error) {
	w.seen.Write(p)
	if !w.found && bytes.Contains(w.seen.Bytes(), w.until) {
		w.found = true
		w.then()
	}
	return len(p), nil
}

// listener must hear nothing.
type listener struct {
	address string
	calls   atomic.Int32
}

func listen(t *testing.T) *listener {
	t.Helper()
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	l := &listener{address: socket.Addr().String()}
	go func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			l.calls.Add(1)
			_ = conn.Close()
		}
	}()
	return l
}

// listing names all files, with their sizes and the content of small ones.
func listing(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s %d", path, info.Mode(), info.Size())
		if info.Mode().IsRegular() && info.Size() < 1<<16 {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %q", text)
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
