package handover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// The processes are this binary, with the role, the address and the path in the
// environment.
const (
	roleVariable    = "HANDOVER_TEST_ROLE"
	addressVariable = "HANDOVER_TEST_ADDRESS"
	pathVariable    = "HANDOVER_TEST_PATH"
)

// testTimeout bounds every wait.
const testTimeout = 30 * time.Second

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// play is a holder or a server until it is asked to end.
func play(role string) error {
	address, path := os.Getenv(addressVariable), os.Getenv(pathVariable)
	log := funcr.New(func(_, args string) { fmt.Println(args) }, funcr.Options{})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if role == "holder" {
		return Hold(ctx, address, path, log)
	}
	return serve(ctx, address, path, log)
}

// serve answers every request.
func serve(ctx context.Context, address, path string, log logr.Logger) error {
	listener, err := Listen(ctx, address, path, log)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "answer")
	}), ReadHeaderTimeout: testTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// pair is where a holder and a server meet.
type pair struct{ address, path string }

func newPair(t *testing.T) pair {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "handover") // a unix socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return pair{listener.Addr().String(), filepath.Join(dir, "socket")}
}

// process is a holder or a server.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	said []string
	more chan struct{} // closed when more is said
}

func (p pair) start(t *testing.T, role string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	started := &process{cmd: exec.Command(os.Args[0]), done: make(chan struct{}), more: make(chan struct{})} //nolint:noctx // it is killed
	started.cmd.Env = append(os.Environ(), roleVariable+"="+role, addressVariable+"="+p.address, pathVariable+"="+p.path)
	started.cmd.Stdout, started.cmd.Stderr = w, w
	err = started.cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(started.done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			started.say(lines.Text())
		}
		_ = started.cmd.Wait()
		_ = r.Close()
	}()
	t.Cleanup(func() {
		started.kill()
		if t.Failed() {
			t.Logf("%s %d:\n%s", role, started.cmd.Process.Pid, strings.Join(started.said, "\n"))
		}
	})
	return started
}

func (p *process) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, line)
	close(p.more)
	p.more = make(chan struct{})
}

// await waits until the process has said the text.
func (p *process) await(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(testTimeout)
	for {
		p.mu.Lock()
		said, more := strings.Join(p.said, "\n"), p.more
		p.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-more:
		case <-p.done:
			t.Fatalf("it ended without saying %q, but:\n%s", text, said)
		case <-timeout:
			t.Fatalf("it does not say %q, but:\n%s", text, said)
		}
	}
}

// kill kills the process by SIGKILL and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// terminate asks the process to end, and returns its exit code.
func (p *process) terminate(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(testTimeout):
		t.Fatal("it does not end")
		return 0
	}
}

// errUnanswered is a request that was sent, on a connection that ended before the
// answer.
var errUnanswered = errors.New("no answer")

// request connects, sends a request, and waits for the answer.
func (p pair) request(ctx context.Context) error {
	conn, err := p.send(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it was read
	return answer(conn)
}

// send connects and sends a request.
func (p pair) send(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: testTimeout}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"); err != nil {
		return nil, errors.Join(errUnanswered, err, conn.Close())
	}
	return conn, nil
}

func answer(conn net.Conn) error {
	data, err := io.ReadAll(conn)
	if err == nil && strings.HasPrefix(string(data), "HTTP/1.1 200") {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || len(data) > 0 {
		return fmt.Errorf("%w, %q", err, data)
	}
	return errors.Join(errUnanswered, err)
}

// traffic is clients that send one request after the other.
type traffic struct {
	answered, lost atomic.Int64
	stop           func()
}

// clients is how many requests are under way at once.
const clients = 4

// startTraffic sends requests until it is stopped. One that is not answered is
// counted, anything else fails the test.
func (p pair) startTraffic(t *testing.T) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	f := &traffic{stop: func() { cancel(); wg.Wait() }}
	t.Cleanup(f.stop)
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				switch err := p.request(context.WithoutCancel(ctx)); {
				case err == nil:
					f.answered.Add(1)
				case errors.Is(err, errUnanswered):
					f.lost.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	f.awaitAnswers(t)
	return f
}

// awaitAnswers waits until more requests were answered.
func (f *traffic) awaitAnswers(t *testing.T) {
	t.Helper()
	ticker, timeout := time.NewTicker(time.Millisecond), time.After(testTimeout)
	defer ticker.Stop()
	for want := f.answered.Load() + 50; f.answered.Load() < want && !t.Failed(); {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("%d requests answered, want %d", f.answered.Load(), want)
		}
	}
}

// TestKilled kills the server and the holder in turn under traffic. No connection
// is refused, and only what was under way in a server that is killed is lost.
func TestKilled(t *testing.T) {
	p := newPair(t)
	holder := p.start(t, "holder")
	holder.await(t, "Holding the port")
	server := p.start(t, "server")
	server.await(t, "Listening on the holder's socket")
	f := p.startTraffic(t)
	for range 3 {
		before := f.lost.Load()
		holder.kill()
		f.awaitAnswers(t)
		holder = p.start(t, "holder")
		holder.await(t, "Holding the port that the server has")
		server.await(t, "Gave the socket to its holder")
		f.awaitAnswers(t)
		if lost := f.lost.Load() - before; lost > 0 {
			t.Errorf("%d requests lost when the holder was killed", lost)
		}
		before = f.lost.Load()
		server.kill()
		holder.await(t, "The server is gone")
		server = p.start(t, "server")
		server.await(t, "Listening on the holder's socket")
		f.awaitAnswers(t)
		if lost := f.lost.Load() - before; lost > clients {
			t.Errorf("%d requests lost when the server was killed, with %d under way at most", lost, clients)
		}
	}
	f.stop()
	t.Logf("%d requests answered, %d lost", f.answered.Load(), f.lost.Load())
}

// TestWait: what connects while there is no server waits for the next one.
func TestWait(t *testing.T) {
	p := newPair(t)
	p.start(t, "holder").await(t, "Holding the port")
	server := p.start(t, "server")
	for range 3 { // servers killed in a row
		server.await(t, "Listening on the holder's socket")
		server.kill()
		var waiting []net.Conn
		for range 20 {
			conn, err := p.send(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, conn)
		}
		server = p.start(t, "server")
		for _, conn := range waiting {
			if err := answer(conn); err != nil {
				t.Error(err)
			}
			_ = conn.Close()
		}
	}
}

// TestServerFirst: a server does not wait for its holder.
func TestServerFirst(t *testing.T) {
	p := newPair(t)
	server := p.start(t, "server")
	server.await(t, "Listening without a holder until there is one")
	if err := p.request(t.Context()); err != nil {
		t.Error(err)
	}
	holder := p.start(t, "holder")
	server.await(t, "Gave the socket to its holder")
	server.kill()
	holder.await(t, "The server is gone")
	if conn, err := p.send(t.Context()); err != nil {
		t.Errorf("the port is closed: %v", err)
	} else {
		_ = conn.Close()
	}
}

// TestBothKilled: the next ones begin anew, in spite of the file that is left.
func TestBothKilled(t *testing.T) {
	p := newPair(t)
	for range 2 {
		holder, server := p.start(t, "holder"), p.start(t, "server")
		holder.await(t, "Holding the port")
		server.await(t, "Listening")
		if err := p.request(t.Context()); err != nil {
			t.Error(err)
		}
		holder.kill()
		server.kill()
		if _, err := os.Lstat(p.path); err != nil {
			t.Error(err)
		}
	}
}

// TestTerminated: a holder that is asked to end lets go at once, and nothing waits
// for a server that will not come.
func TestTerminated(t *testing.T) {
	p := newPair(t)
	holder := p.start(t, "holder")
	holder.await(t, "Holding the port")
	server := p.start(t, "server")
	server.await(t, "Listening on the holder's socket")
	if code := holder.terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Lstat(p.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unix socket is left: %v", err)
	}
	if err := p.request(t.Context()); err != nil {
		t.Errorf("the server is to go on: %v", err)
	}
	if code := server.terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := p.request(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want that the port is closed", err)
	}
}
