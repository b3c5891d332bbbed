package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// pageText is docs/performance.md without the figures.
//
//go:embed page.md.tmpl
var pageText string

// targetServices is the number of Services that the targets for requests are for.
const targetServices = 1000

// page is what the template is filled with.
type page struct{ *Result }

// markdown returns the page that tells of the result.
func markdown(r *Result) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"count": count}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, page{r})
	return out.Bytes(), err
}

// Least and Most are the stages with the fewest and the most routes.
func (p page) Least() *Stage { return &p.Stages[0] }

// Most is the stage with the most routes.
func (p page) Most() *Stage { return &p.Stages[len(p.Stages)-1] }

// Spread is the stage that the targets for requests are for, or the first.
func (p page) Spread() *Stage {
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Services == targetServices })
	return &p.Stages[max(i, 0)]
}

// Processors is the number of processors that the machine had.
func (p page) Processors() string {
	n, _, _ := strings.Cut(p.Machine, " ")
	return n
}

// MachineTable says what the run was made on.
func (p page) MachineTable() string {
	idle := 1.0
	for _, s := range p.Stages {
		idle = min(idle, s.IdleBefore)
	}
	rows := table{
		{"machine", p.Machine},
		{"shared with", "the API server, etcd and the load generator"},
		{"load average as the run began", fmt.Sprintf("%.1f", p.Load)},
		{"idle before each start", fmt.Sprintf("at least %.0f %%", 100*idle)},
		{"CPU that other guests of the host took", fmt.Sprintf("%.1f %%", 100*p.Stolen)},
		{"built with", p.Go},
		{"date", p.Date},
		{"command", "`make bench-load LOAD=\"" + p.Flags + "\"`"},
	}
	return rows.under("", "")
}

// RatioTable has the ratios to the floor by the size of the cluster.
func (p page) RatioTable(title string) string {
	of := func(c *Comparison) Measure { return c.CPU }
	if strings.HasPrefix(title, "p99") {
		of = func(c *Comparison) Measure { return c.P99 }
	}
	var rows table
	for i := range p.Least().Webhook {
		row := []string{p.Least().Webhook[i].Traffic}
		for j := range p.Stages {
			row = append(row, ratio(of(&p.Stages[j].Webhook[i])))
		}
		rows = append(rows, row)
	}
	return rows.under(append([]string{title}, sizes(p.Stages)...)...)
}

// SpreadTable says how far the rounds of one stage differ.
func (p page) SpreadTable() string {
	var rows table
	for _, c := range p.Spread().Webhook {
		rows = append(rows, []string{
			c.Traffic,
			fmt.Sprintf("%.0f of %.0f", c.CPU.Guard, c.CPU.Floor), quartiles(c.CPU), fmt.Sprintf("%.2f", c.CPU.All),
			fmt.Sprintf("%.1f of %.1f", c.P99.Guard/1e3, c.P99.Floor/1e3), quartiles(c.P99), fmt.Sprintf("%.2f", c.P99.All),
		})
	}
	return rows.under("", "CPU, µs a request, of the floor's", "quartiles of the ratio", "all rounds as one",
		"p99, ms, of the floor's", "quartiles of the ratio", "all rounds as one")
}

// MemoryTable has what the start and the cache take.
func (p page) MemoryTable() string {
	line := func(name string, f func(*Stage) string) []string {
		row := []string{name}
		for i := range p.Stages {
			row = append(row, f(&p.Stages[i]))
		}
		return row
	}
	rows := table{
		line("Services", func(s *Stage) string { return count(s.Services) }),
		line("ready after, s", func(s *Stage) string { return fmt.Sprintf("%.2f", s.ReadySeconds) }),
		line("resident, settled, after a forced collection, MiB", func(s *Stage) string { return whole(s.RSSMiB) }),
		line("Go heap, likewise, MiB", func(s *Stage) string { return whole(s.HeapMiB) }),
		line("resident after all requests, MiB", func(s *Stage) string { return whole(s.LoadedMiB) }),
		line("most resident until settled, MiB", func(s *Stage) string { return whole(s.PeakMiB) }),
	}
	return rows.under(append([]string{""}, sizes(p.Stages)...)...)
}

// RouteBytes is what a cached route takes, on the heap and resident: nothing where
// the sizes are too near to each other to tell.
func (p page) RouteBytes() []string {
	heap, resident, ok := p.routeBytes()
	if !ok {
		return nil
	}
	return []string{whole(heap), whole(resident)}
}

func (p page) routeBytes() (heap, resident float64, ok bool) {
	least, most := p.Least(), p.Most()
	more := float64(most.Routes - least.Routes)
	return (most.HeapMiB - least.HeapMiB) * (1 << 20) / more, (most.RSSMiB - least.RSSMiB) * (1 << 20) / more, more >= 10000
}

// StatusTable has what the reconciler took.
func (p page) StatusTable() string {
	stages := slices.DeleteFunc(slices.Clone(p.Stages), func(s Stage) bool { return s.Status == nil })
	line := func(name string, f func(*Status) string) []string {
		row := []string{name}
		for _, s := range stages {
			row = append(row, f(s.Status))
		}
		return row
	}
	rows := table{
		line("start to all Services looked at, s", func(s *Status) string { return tenth(s.ColdSeconds) }),
		line("writes by then", func(s *Status) string { return count(s.ColdWrites) }),
		line("CPU by then, s", func(s *Status) string { return tenth(s.ColdCPUSeconds) }),
		line("conflicting apply to mark, idle: p50, ms", func(s *Status) string { return whole(s.Idle.P50) }),
		line("p99, ms", func(s *Status) string { return whole(s.Idle.P99) }),
		line("during the mass event: p50, ms", func(s *Status) string { return whole(s.Busy.P50) }),
		line("p99, ms (samples)", func(s *Status) string { return fmt.Sprintf("%.0f (%d)", s.Busy.P99, s.Busy.Samples) }),
		line("mass event: routes whose grant is withdrawn", func(s *Status) string { return count(s.Withdrawn.Routes) }),
		line("all marked after, s", func(s *Status) string { return tenth(s.Withdrawn.Seconds) }),
		line("writes, fresh conflicts included", func(s *Status) string { return count(s.Withdrawn.Writes) }),
		line("CPU, s", func(s *Status) string { return tenth(s.Withdrawn.CPUSeconds) }),
		line("grant returned: all mended after, s", func(s *Status) string { return tenth(s.Returned.Seconds) }),
		line("writes", func(s *Status) string { return count(s.Returned.Writes) }),
	}
	return rows.under(append([]string{""}, sizes(stages)...)...)
}

// table is the rows of a table in Markdown.
type table [][]string

// under returns the rows under a header.
func (t table) under(header ...string) string {
	var out strings.Builder
	row := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(header)
	out.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, cells := range t {
		row(cells)
	}
	return out.String()
}

func sizes(stages []Stage) []string {
	var names []string
	for _, s := range stages {
		names = append(names, count(s.Routes)+" routes")
	}
	return names
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }
func tenth(v float64) string { return fmt.Sprintf("%.1f", v) }

func ratio(m Measure) string     { return fmt.Sprintf("%.2f", m.Ratio) }
func quartiles(m Measure) string { return fmt.Sprintf("%.2f to %.2f", m.Lower, m.Upper) }

// count writes a number with a comma before each three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
