package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What makes the test binary an attacker: which, the webhooks' URL, the file of their CA,
// and for how long.
const (
	attackerSort = "GAMMAGUARD_TEST_ATTACKER"
	attackerURL  = "GAMMAGUARD_TEST_ATTACKED_URL"
	attackerCA   = "GAMMAGUARD_TEST_ATTACKED_CA"
	attackerTime = "GAMMAGUARD_TEST_ATTACK_TIME"
)

const (
	// idleConnections are held at once, and idleRate of those that were closed are opened
	// again in a second.
	idleConnections, idleRate = 256, 50
	// silentRate is how many connections a second are opened that send nothing.
	silentRate = 100
)

// attackers are what a process without rights does that reaches the webhook port. Each
// attacks for a time, and returns how often it could.
var attackers = []struct {
	name   string
	attack func(ctx context.Context, webhook *caller, duration time.Duration) (attacks int, err error)
	// slower is what it may make of the p99 of others: hostile requests are judged, on the
	// processors that the others' requests need too.
	slower float64
}{
	{"hostile-requests", hostileRequests, 3},
	{"idle-connections", idle, mostSlower},
	{"silent-connections", silent, mostSlower},
}

// attackerOf returns what starts an attacker. It is another process, and gets what the
// others leave of the processors: in a cluster it has its own.
func attackerOf(b testing.TB, ca []byte) func(b testing.TB, sort, url string, duration time.Duration) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "ca.crt")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		b.Fatal(err)
	}
	return func(b testing.TB, sort, url string, duration time.Duration) {
		cmd := exec.CommandContext(b.Context(), "nice", "-n", "19", os.Args[0])
		cmd.Env = append(os.Environ(), attackerSort+"="+sort, attackerURL+"="+url, attackerCA+"="+file, attackerTime+"="+duration.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Errorf("the attacker: %v: %s", err, out)
		}
	}
}

// elsewhere dials from another address than the API server's, as a Pod does.
var elsewhere = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

// runAttacker attacks. It fails where an attack succeeds, or cannot be made.
func runAttacker() int {
	ca, err := os.ReadFile(os.Getenv(attackerCA))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	duration, err := time.ParseDuration(os.Getenv(attackerTime))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, sort := range attackers {
		if sort.name != os.Getenv(attackerSort) {
			continue
		}
		webhook := newCaller(os.Getenv(attackerURL), ca)
		webhook.client.Transport.(*nethttp.Transport).DialContext = elsewhere.DialContext
		attacks, err := sort.attack(context.Background(), webhook, duration)
		if err != nil || attacks == 0 {
			fmt.Printf("%d attacks, %v\n", attacks, err)
			return 1
		}
		return 0
	}
	return 1
}

// hostileRequests sends large requests, and such as are at the limits of the schema.
func hostileRequests(ctx context.Context, webhook *caller, duration time.Duration) (int, error) {
	var hostile []string
	for _, large := range tooLarge {
		hostile = append(hostile, review("hostile", large.spec(largest-2<<10)))
	}
	for _, limit := range atLimits {
		hostile = append(hostile, review("hostile", limit.spec))
	}
	var allowed, answered atomic.Int64
	begun := time.Now()
	paced(ctx, duration, hostileRate, func(ctx context.Context, i int) {
		yes, err := webhook.send(ctx, "/validate", hostile[i%len(hostile)])
		if yes {
			allowed.Add(1)
		}
		if err == nil { // others are turned away by the webhook's bounds
			answered.Add(1)
		}
	})
	if took := time.Since(begun); allowed.Load() > 0 || took > duration*5/4 {
		return 0, fmt.Errorf("%d allowed, in %s", allowed.Load(), took)
	}
	return int(answered.Load()), nil
}

// idle has a request answered on each of many connections, and then sends nothing. One
// that is closed is opened again.
func idle(ctx context.Context, webhook *caller, duration time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	turns := make(chan struct{})
	go func() {
		for range idleConnections { // at once
			turns <- struct{}{}
		}
		ticks := time.NewTicker(time.Second / idleRate)
		defer ticks.Stop()
		for ctx.Err() == nil {
			<-ticks.C
			select {
			case turns <- struct{}{}:
			default:
			}
		}
	}()
	var held atomic.Int64
	var all sync.WaitGroup
	for range idleConnections {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-turns:
				}
				if webhook.hold(ctx, "GET /validate HTTP/1.1\r\nHost: x\r\n\r\n") {
					held.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(held.Load()), nil
}

// silent opens connections and sends nothing.
func silent(ctx context.Context, webhook *caller, duration time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var held atomic.Int64
	paced(ctx, duration, silentRate, func(ctx context.Context, _ int) {
		if webhook.hold(ctx, "") {
			held.Add(1)
		}
	})
	return int(held.Load()), nil
}

// hold opens a connection, sends a request if there is one, and reads until the other side
// closes it, or the context ends. It reports whether there was a connection.
func (c *caller) hold(ctx context.Context, request string) bool {
	conn, err := elsewhere.DialContext(ctx, "tcp", strings.TrimPrefix(c.url, "https://"))
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // it sends no more
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if request != "" {
		config := c.client.Transport.(*nethttp.Transport).TLSClientConfig.Clone()
		config.ServerName = "127.0.0.1"
		conn = tls.Client(conn, config)
		if _, err := io.WriteString(conn, request); err != nil {
			return false
		}
	}
	_, _ = io.Copy(io.Discard, conn)
	return true
}
