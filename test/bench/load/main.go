package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

var (
	flags     = flag.NewFlagSet("load", flag.ContinueOnError)
	sizes     = flags.String("routes", "100,1000,10000,100000", "numbers of routes in the cluster, measured one after another; a fifth as many Services")
	out       = flags.String("out", "", "folder to write result.json to, with the page <folder>.md beside it; without it, result.json goes to standard output")
	again     = flags.Bool("render", false, "measure nothing: write the page again from the result.json in the folder")
	auditOnly = flags.Bool("audit", false, "measure the standing audit alone, and write it in the place of what the result.json in the folder has of it")
	quick     = flags.Bool("quick", false, "a run of about two minutes: 100 and 1,000 routes, short rounds")
	asFloor   = flags.String("floor", "", "measure nothing: serve what gammaguard is compared with, as a run has it do; with this kubeconfig it reads what denials are confirmed by")
)

// plan says how much is sent: requests in a round, rounds on each webhook, conflicting
// routes that are applied while nothing else happens, and changes of each kind that the
// standing audit must see; and for how long processes are watched that have nothing to do.
type plan struct {
	requests, rounds, conflicts, changes int
	rest                                 time.Duration
}

// clients send requests at the same time.
const clients = 8

func main() {
	log.SetLogger(logr.Discard()) // or controller-runtime prints a stack trace after 30 seconds
	bed.Main(start)
}

func start(ctx context.Context, args []string) error {
	err := flags.Parse(args)
	switch {
	case err != nil:
		return err
	case *asFloor != "":
		return serveFloor(ctx, *asFloor)
	case (*again || *auditOnly) && *out == "":
		return errors.New("-render and -audit need -out, the folder of result.json")
	case *again:
		return render(*out)
	}
	p := plan{requests: 2000, rounds: 40, conflicts: 300, changes: 2, rest: time.Minute}
	if *quick {
		*sizes, p = "100,1000", plan{requests: 1000, rounds: 9, conflicts: 50, changes: 1, rest: 5 * time.Second}
	}
	var routes []int
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 100 {
			return fmt.Errorf("-routes: %q is not a number from 100 on", size)
		}
		routes = append(routes, n)
	}
	return run(ctx, p, routes)
}

// layoutOf returns the layout with so many routes: five routes a Service, but a
// thousand Services from a thousand routes on.
func layoutOf(routes int) layout {
	services := max(routes/5, 20)
	if routes >= 1000 {
		services = max(services, 1000)
	}
	return layout{services: services, routes: routes}
}

func run(ctx context.Context, p plan, routes []int) (err error) {
	result := Result{
		Machine: machine(), Go: runtime.Version(), Date: time.Now().UTC().Format(time.DateOnly), Flags: strings.Join(os.Args[1:], " "),
	}
	plane, err := bed.Start(ctx, bed.Options{APIServerFlags: map[string][]string{
		// Every five minutes the API server lists all it holds from etcd, and compares.
		// At 100,000 routes that takes the processors for most of a minute.
		"feature-gates": {"DetectCacheInconsistency=false"},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := guard.Install(ctx, plane); err != nil {
		return err
	}
	c, err := plane.Client(gatewayv1.Install)
	if err != nil {
		return err
	}
	b := &bench{plane: plane, plan: p, cluster: &cluster{WithWatch: c, etcd: plane.EtcdURL, bound: map[int]int{}}}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for _, n := range routes {
		stage, err := b.stage(ctx, layoutOf(n))
		if err != nil {
			return fmt.Errorf("%d routes: %w", n, err)
		}
		if *auditOnly {
			if err := replaceAudit(&result, *out, stage); err != nil {
				return err
			}
		} else {
			result.Stages = append(result.Stages, *stage)
		}
		if err := write(&result, *out); err != nil { // what is known so far is kept, whatever becomes of the rest
			return err
		}
	}
	return nil
}

// progress prints how far the run is.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+"  "+format+"\n", args...)
}

// machine reads "2 x Some CPU, linux/amd64".
func machine() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // without it the model is not known
	_, model, _ := strings.Cut(string(data), "model name")
	model, _, _ = strings.Cut(model, "\n")
	return fmt.Sprintf("%d x %s, %s/%s", runtime.NumCPU(), strings.TrimLeft(model, "\t :"), runtime.GOOS, runtime.GOARCH)
}
