package build

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gammaguard/gammaguard/internal/temporary"
)

const (
	// maxMemory is how much memory building may take, and maxResult how large a result may be.
	maxMemory = 1 << 30
	maxResult = 64 << 20
	// DefaultLimit is how long building one kustomization or chart may take.
	DefaultLimit = 30 * time.Second
	// leastLimit is what is left of the limit when others have reached it.
	leastLimit = time.Second
)

// Files are the files that a builder may read.
type Files interface {
	// ReadFile returns the content of a file.
	ReadFile(path string) ([]byte, error)
	// Resolve returns a path without links.
	Resolve(path string) (resolved string, isFolder bool, err error)
}

// Builder builds in a process of its own, which it starts when there is something to
// build, and again when it was lost. It is not safe for concurrent use.
type Builder struct {
	files   Files
	remote  bool
	limit   time.Duration
	process *process
}

// New returns a builder. With remote, kustomize may fetch; with a limit of 0, that is DefaultLimit.
func New(files Files, remote bool, limit time.Duration) *Builder {
	if limit == 0 {
		limit = DefaultLimit
	}
	return &Builder{files: files, remote: remote, limit: limit}
}

// Error is why something could not be built.
type Error struct {
	text string
	// Remote: it needs what is not in the repository.
	Remote bool
	// NotLoaded: the files are not those of a chart. NotParsed: a template is not one.
	NotLoaded, NotParsed bool
	// Missing are the dependencies that the chart lacks, which may be why.
	Missing []string
	// Exhausted: it took more than it may.
	Exhausted bool
}

// Error says why.
func (e *Error) Error() string { return e.text }

// Use has the builder read these files from now on.
func (b *Builder) Use(files Files) { b.files = files }

// Kustomize builds a folder. The file is the kustomization in it, by its path without links.
func (b *Builder) Kustomize(ctx context.Context, folder, file string) ([]Resource, error) {
	done, err := b.do(ctx, &request{Kustomization: &kustomization{folder, file}})
	if err != nil {
		return nil, err
	}
	return done.Resources, nil
}

// Render renders a chart: it returns what its templates make, its CustomResourceDefinitions, both by Helm's names of
// them without the chart's, and which dependencies it lacks.
func (b *Builder) Render(ctx context.Context, chart *Chart) (rendered map[string]Rendered, missing []string, _ error) {
	done, err := b.do(ctx, &request{Chart: chart})
	if err != nil {
		return nil, nil, err
	}
	return done.Rendered, done.Missing, nil
}

// Close ends the process.
func (b *Builder) Close() {
	if b.process != nil {
		b.process.kill()
		b.process = nil
	}
}

// do has the process do a job. A process that fails is not used again.
func (b *Builder) do(ctx context.Context, job *request) (*result, error) {
	if b.process == nil {
		started, err := b.start()
		if err != nil {
			return nil, err
		}
		b.process = started
	}
	job.Limit = b.limit
	done, err := b.process.do(ctx, job, b.files)
	if err != nil {
		b.Close()
		if failed := (*Error)(nil); errors.As(err, &failed) && failed.Exhausted {
			b.limit = max(leastLimit, b.limit/2) // so that many such sets end too
		}
		return nil, err
	}
	if done.Error != "" {
		return nil, &Error{text: done.Error, Remote: done.Remote, NotLoaded: done.NotLoaded, NotParsed: done.NotParsed, Missing: done.Missing}
	}
	return done, nil
}

// process is a builder's process.
type process struct {
	cmd   *exec.Cmd
	out   *gob.Encoder
	in    *gob.Decoder
	stdin io.Closer
	said  *tail
	// remove removes what it may have left; nil for nothing.
	remove func() error
	// late is set once the process was killed because it took too long.
	late atomic.Bool
}

// start starts a process.
func (b *Builder) start() (*process, error) {
	if !isMain {
		return nil, errors.New("this program cannot build: its main function does not call build.Main")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" {
		program = "/proc/self/exe" // also when the file was replaced
	}
	p := &process{said: &tail{}}
	p.cmd = exec.Command(program, argument) //nolint:gosec,noctx // the program itself; each job has a limit
	p.cmd.Env = []string{"GOTRACEBACK=none"}
	if b.remote {
		var folder string
		if folder, p.remove, err = temporary.Folder(); err != nil {
			return nil, err
		}
		p.cmd.Args = append(p.cmd.Args, allowRemote)
		p.cmd.Env = append(os.Environ(), "TMPDIR="+folder, "TMP="+folder, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=http:https:ssh:git")
	}
	p.cmd.Stderr = p.said
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out, p.in, p.stdin = gob.NewEncoder(stdin), gob.NewDecoder(stdout), stdin
	return p, p.cmd.Start()
}

// kill ends the process, and removes what it left.
func (p *process) kill() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	if p.remove != nil {
		_ = p.remove()
	}
}

// do has the process do a job, and answers its questions.
func (p *process) do(ctx context.Context, job *request, files Files) (*result, error) {
	limit := time.AfterFunc(job.Limit, func() {
		p.late.Store(true)
		_ = p.cmd.Process.Kill()
	})
	defer limit.Stop()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	send := job
	for {
		err := p.out.Encode(send)
		var r reply
		if err == nil {
			err = p.in.Decode(&r)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, p.lost(err, job.Limit)
		case r.Result != nil:
			return r.Result, nil
		case r.Question == nil:
			return nil, errors.New("the builder asked nothing")
		}
		send = &request{Answer: r.Question.answer(files)}
	}
}

// lost says why the process is gone.
func (p *process) lost(err error, limit time.Duration) error {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	said := p.said.String()
	switch {
	case p.late.Load(), code == exitTime:
		return &Error{text: fmt.Sprintf("building takes longer than %v", limit), Exhausted: true}
	case code == exitMemory, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"):
		return &Error{text: fmt.Sprintf("building takes more than %d MiB of memory", maxMemory>>20), Exhausted: true}
	}
	line, _, _ := strings.Cut(said, "\n")
	return &Error{text: fmt.Sprintf("the builder failed: %v: %v: %q", err, p.cmd.ProcessState, line), Exhausted: true}
}

// answer answers a question.
func (q *question) answer(files Files) *answer {
	a := &answer{}
	var err error
	if q.Resolve {
		a.Resolved, a.IsFolder, err = files.Resolve(q.Path)
	} else {
		a.Data, err = files.ReadFile(q.Path)
	}
	if err != nil {
		a = &answer{Error: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	return a
}

// tail keeps the beginning of what a process says.
type tail struct{ bytes.Buffer }

// Write takes what there is room for.
func (t *tail) Write(p []byte) (int, error) {
	if room := 4096 - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
