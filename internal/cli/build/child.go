package build

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// argument is that of a process that is a builder; with allowRemote it may fetch, too.
const (
	argument    = "__build"
	allowRemote = "--allow-remote"
)

// The exit codes of a builder that stops itself.
const (
	exitMemory = 3
	exitTime   = 4
)

// isMain is set if the program calls Main.
var isMain bool

// Main makes the process a builder if it was started as one, and does not return then.
func Main() {
	isMain = true
	if len(os.Args) < 2 || os.Args[1] != argument {
		return
	}
	remote := len(os.Args) > 2 && os.Args[2] == allowRemote
	fmt.Fprintln(os.Stderr, serve(os.Stdin, os.Stdout, remote)) //nolint:forbidigo // the program that started it reads it
	os.Exit(1)
}

// serve builds what it is asked for, until it cannot answer. Where there is nothing more, the
// process ends.
func serve(in io.Reader, out io.Writer, remote bool) error {
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	bound()
	if !remote {
		disconnect()
		confine()
	}
	c := &child{in: make(chan *request), out: gob.NewEncoder(out), remote: remote}
	go c.receive(in)
	for {
		r := <-c.in
		end := time.AfterFunc(r.Limit, func() { os.Exit(exitTime) })
		done := c.do(r)
		end.Stop()
		if err := c.out.Encode(reply{Result: done}); err != nil {
			return err
		}
	}
}

// disconnect makes Go's own means to start programs and to connect fail.
func disconnect() {
	os.Clearenv()
	http.DefaultTransport = refusing{}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: refuse}
}

// bound bounds the memory of the process.
func bound() {
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	limitMemory()
	go Watch(func(inUse uint64) bool {
		if inUse > maxMemory {
			os.Exit(exitMemory)
		}
		return true
	})
}

// Watch calls the function with the bytes of memory that the process holds, again and again, as long as it
// returns true.
func Watch(look func(inUse uint64) bool) {
	for range time.Tick(20 * time.Millisecond) {
		if !look(inUse()) {
			return
		}
	}
}

// inUse returns how much memory the process holds.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// child is a builder's side of the connection.
type child struct {
	in     chan *request
	out    *gob.Encoder
	remote bool
}

// receive reads what the parent sends. When the parent is gone, so is the child.
func (c *child) receive(in io.Reader) {
	decoder := gob.NewDecoder(in)
	for {
		r := &request{}
		if err := decoder.Decode(r); err != nil {
			os.Exit(0)
		}
		c.in <- r
	}
}

// do does a job.
func (c *child) do(r *request) (done *result) {
	done = &result{}
	defer func() {
		if panicked := recover(); panicked != nil {
			*done = result{Error: printable.Shortened(fmt.Sprintf("it panicked: %v", panicked))}
		}
	}()
	var err error
	switch {
	case r.Kustomization != nil:
		done.Resources, err = c.kustomize(r.Kustomization)
	case r.Chart != nil:
		if done.Missing, err = r.Chart.missing(); err == nil {
			done.Rendered, err = r.Chart.render()
		}
	default:
		err = errors.New("no job")
	}
	if err == nil {
		err = done.tooLarge()
	}
	if err != nil {
		done = &result{Error: err.Error(), Remote: isRemote(err), Missing: done.Missing}
		done.NotLoaded = errors.Is(err, errNotLoaded)
		done.NotParsed = strings.Contains(done.Error, "parse error at ")
		done.Error = printable.Shortened(done.Error)
	}
	return done
}

// tooLarge returns an error if there is more than a parent takes.
func (r *result) tooLarge() error {
	size := 0
	for i := range r.Resources {
		size += len(r.Resources[i].JSON)
	}
	for _, made := range r.Rendered {
		size += len(made.Text)
	}
	if size > maxResult {
		return fmt.Errorf("the result is larger than %d MiB", maxResult>>20)
	}
	return nil
}

// ask asks the parent about a file.
func (c *child) ask(q *question) (*answer, error) {
	if err := c.out.Encode(reply{Question: q}); err != nil {
		return nil, err
	}
	switch a := (<-c.in).Answer; {
	case a == nil:
		return nil, errors.New("no answer")
	case a.Missing:
		return nil, &missingError{a.Error}
	case a.Error != "":
		return nil, errors.New(a.Error)
	default:
		return a, nil
	}
}

// missingError is why a file cannot be read that does not exist.
type missingError struct{ text string }

// Error says which.
func (m *missingError) Error() string { return m.text }

// Is reports whether the other one says the same.
func (m *missingError) Is(other error) bool { return other == os.ErrNotExist }
