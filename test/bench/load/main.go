package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
)

// contested is the number of Services whose port a GRPCRoute holds.
const contested = 50

// options are the command line.
type options struct {
	routes    []int
	plan      plan
	sharing   int
	conflicts int
	out       string
	render    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if len(os.Args) == 3 && os.Args[1] == "-floor" {
		exit(serveFloor(ctx, os.Args[2]))
	}
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		os.Exit(2)
	case o.render:
		exit(render(o.out))
	}
	exit(run(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func parse(args []string) (*options, error) {
	o := &options{}
	set := flag.NewFlagSet("load", flag.ContinueOnError)
	sizes := set.String("routes", "100,1000,10000,100000", "numbers of routes in the cluster, measured one after another; a fifth as many Services")
	set.IntVar(&o.plan.clients, "clients", 8, "clients that send requests side by side")
	set.IntVar(&o.plan.requests, "requests", 2000, "requests in a round")
	set.IntVar(&o.plan.rounds, "rounds", 40, "rounds on each webhook, in turns")
	set.IntVar(&o.sharing, "sharing", 1000, "routes that share one Service")
	set.IntVar(&o.conflicts, "conflicts", 300, "conflicting routes applied while nothing else happens")
	set.StringVar(&o.out, "out", "", "folder to write result.json and the curves to, with the page <folder>.md beside it; without it, result.json goes to standard output")
	set.BoolVar(&o.render, "render", false, "measure nothing: write the curves and the page again from the result.json in the folder")
	quick := set.Bool("quick", false, "a run of about a minute: 100 and 1,000 routes, short rounds")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if o.render && o.out == "" {
		err := errors.New("-render needs -out, the folder of result.json")
		fmt.Fprintln(os.Stderr, "error:", err)
		return nil, err
	}
	if *quick {
		*sizes, o.plan.requests, o.plan.rounds, o.conflicts = "100,1000", 1000, 9, 50
	}
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 100 {
			err = fmt.Errorf("-routes: %q is no number from 100 on", size)
			fmt.Fprintln(os.Stderr, "error:", err)
			return nil, err
		}
		o.routes = append(o.routes, n)
	}
	return o, nil
}

// layoutOf returns the layout with so many routes: twenty namespaces, or fewer
// where there are few Services, and five routes a Service, but a thousand Services
// from a thousand routes on.
func layoutOf(routes int) layout {
	services := max(routes/5, 20)
	if routes >= 1000 {
		services = max(services, 1000)
	}
	return layout{namespaces: 20, services: services, routes: routes}
}

func run(ctx context.Context, o *options) (err error) {
	began := time.Now()
	tell := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%6s  %s\n", time.Since(began).Round(time.Second), fmt.Sprintf(format, args...))
	}
	result := Result{
		Machine: machine(), Go: runtime.Version(), Date: began.UTC().Format(time.DateOnly),
		Flags: strings.Join(os.Args[1:], " "), Load: loadAverage(),
	}
	tell("starting a control plane")
	plane, err := bed.Start(ctx, bed.Options{APIServerFlags: map[string][]string{
		// Every five minutes the API server lists all it holds from etcd, and compares.
		// At 100,000 routes that takes the processors for most of a minute.
		"feature-gates": {"DetectCacheInconsistency=false"},
	}})
	if err != nil {
		return err
	}
	defer func() {
		if stopped := plane.Stop(); err == nil {
			err = stopped
		}
	}()
	b := &bench{options: o, plane: plane}
	if b.cluster, err = newCluster(plane.Config, plane.EtcdURL, tell); err != nil {
		return err
	}
	before := machineTicks()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for _, routes := range o.routes {
		stage, err := b.stage(ctx, layoutOf(routes))
		if err != nil {
			return fmt.Errorf("%d routes: %w", routes, err)
		}
		result.Stages = append(result.Stages, *stage)
		_, result.Stolen = machineTicks().since(before)
		// What is known so far is kept, whatever becomes of the rest.
		if err := write(&result, o.out); err != nil {
			return err
		}
	}
	tell("done")
	return nil
}

// resultFile is the name of the result in the folder.
const resultFile = "result.json"

// write writes the result, with its curves and its page where there is a folder for
// them.
func write(result *Result, out string) error {
	data, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if out == "" {
		_, err := os.Stdout.Write(data)
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, resultFile), data, 0o644); err != nil { //nolint:gosec // for all to read
		return err
	}
	return draw(result, out)
}

// draw writes the result's curves into the folder, and its page beside it.
func draw(result *Result, out string) error {
	for name, c := range charts(result) {
		if err := os.WriteFile(filepath.Join(out, name+".svg"), c.svg(), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	text, err := markdown(result)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(out)+".md", text, 0o644) //nolint:gosec // for all to read
}

// render draws the result that is in the folder.
func render(out string) error {
	path := filepath.Join(out, resultFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var result Result
	if err := json.Unmarshal(data, &result); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(result.Stages) == 0 {
		return fmt.Errorf("%s: no stages", path)
	}
	return draw(&result, out)
}

// machine reads "2 x Some CPU, 23 GiB, linux/amd64".
func machine() string {
	model := "CPU"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	size := "?"
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			if kib, err := strconv.Atoi(fields[1]); err == nil {
				size = strconv.Itoa(kib >> 20)
			}
		}
	}
	return fmt.Sprintf("%d x %s, %s GiB, %s/%s", runtime.NumCPU(), model, size, runtime.GOOS, runtime.GOARCH)
}

func loadAverage() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	load, _ := strconv.ParseFloat(strings.Fields(string(data))[0], 64)
	return load
}
