package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
)

// chart is a line chart over numbers of routes, on a logarithmic axis. A library
// for charts would bring fonts and pictures for what takes a page to write.
type chart struct {
	title, unit string
	x           []float64
	lines       []line
	// limit is a horizontal line that the values are to stay under; zero is none.
	limit float64
}

type line struct {
	name   string
	values []float64
}

// The picture's size, and the place of the axes in it.
const (
	width, height       = 640, 320
	left, right         = 60, 430
	top, bottom         = 40, 280
	colours             = "#1f77b4 #d62728 #2ca02c #9467bd #ff7f0e"
	colourLength, steps = 8, 4
)

// svg draws the chart.
func (c *chart) svg() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	c.text(&out, left, top-20, "start", c.title)
	most := c.most()
	for i := range steps + 1 {
		y := bottom - float64(bottom-top)*float64(i)/steps
		fmt.Fprintf(&out, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", left, y, right)
		c.text(&out, left-6, y+4, "end", fmt.Sprintf("%.3g", most*float64(i)/steps))
	}
	c.text(&out, left, top-6, "end", c.unit)
	for i, x := range c.x {
		c.text(&out, c.at(i), bottom+16, "middle", fmt.Sprint(x))
	}
	c.text(&out, (left+right)/2, bottom+32, "middle", "routes in the cluster")
	if c.limit > 0 {
		y := height0(c.limit, most)
		fmt.Fprintf(&out, `<path d="M%d %.1fH%d" stroke="#888" stroke-dasharray="4 3"/>`+"\n", left, y, right)
		c.text(&out, right+8, y+4, "start", fmt.Sprintf("limit %g", c.limit))
	}
	for n, l := range c.lines {
		colour := colours[n%5*colourLength : n%5*colourLength+colourLength-1]
		fmt.Fprintf(&out, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for i, value := range l.values {
			fmt.Fprintf(&out, "%.1f,%.1f ", c.at(i), height0(value, most))
		}
		fmt.Fprintf(&out, `"/>`+"\n"+`<path d="M%d %dh14" stroke="%s" stroke-width="2"/>`+"\n", right+8, top+20+n*18, colour)
		c.text(&out, right+26, float64(top+24+n*18), "start", l.name)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (c *chart) text(out *bytes.Buffer, x, y float64, anchor, text string) {
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="%s">`, x, y, anchor)
	xml.EscapeText(out, []byte(text)) //nolint:errcheck // a buffer takes everything
	out.WriteString("</text>\n")
}

// at returns the place of the i-th number of routes.
func (c *chart) at(i int) float64 {
	first, last := math.Log(c.x[0]), math.Log(c.x[len(c.x)-1])
	if first == last {
		return left
	}
	return left + (right-left)*(math.Log(c.x[i])-first)/(last-first)
}

// height0 returns the place of a value on an axis that begins at zero.
func height0(value, most float64) float64 { return bottom - (bottom-top)*value/most }

// most returns the upper end of the axis: one, two or five times a power of ten,
// or a half more than that.
func (c *chart) most() float64 {
	most := c.limit
	for _, l := range c.lines {
		for _, value := range l.values {
			most = max(most, value)
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	for _, step := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8, 10} {
		if most <= step*power {
			return step * power
		}
	}
	return 10 * power
}

// charts returns the curves of a result by name.
func charts(r *Result) map[string]*chart {
	cpu := &chart{title: "CPU per request, as a ratio to a webhook that decodes and admits", unit: "x", limit: 1.25}
	p99 := &chart{title: "p99 of the time to answer, as a ratio to the same", unit: "x", limit: 2}
	mem := &chart{title: "Memory after a garbage collection", unit: "MiB", limit: 200}
	ready := &chart{title: "Time from start", unit: "s"}
	mark := &chart{title: "Time from a conflicting apply to the mark, p99", unit: "ms"}
	mem.lines = []line{{name: "resident"}, {name: "Go heap"}}
	ready.lines = []line{{name: "ready"}, {name: "all status looked at"}}
	mark.lines = []line{{name: "idle"}, {name: "during a mass event"}}
	for i := range r.Stages {
		s := &r.Stages[i]
		x := float64(s.Routes)
		for j, c := range s.Webhook {
			if i == 0 {
				cpu.lines = append(cpu.lines, line{name: c.Traffic})
				p99.lines = append(p99.lines, line{name: c.Traffic})
			}
			cpu.lines[j].values = append(cpu.lines[j].values, c.CPU.Ratio)
			p99.lines[j].values = append(p99.lines[j].values, c.P99.Ratio)
		}
		cpu.x, p99.x, mem.x = append(cpu.x, x), append(p99.x, x), append(mem.x, x)
		mem.add(s.RSSMiB, s.HeapMiB)
		if s.Status == nil {
			continue
		}
		ready.x, mark.x = append(ready.x, x), append(mark.x, x)
		ready.add(s.ReadySeconds, s.Status.ColdSeconds)
		mark.add(s.Status.Idle.P99, s.Status.Busy.P99)
	}
	all := map[string]*chart{"cpu": cpu, "p99": p99, "memory": mem, "ready": ready, "mark": mark}
	for name, c := range all {
		if len(c.x) == 0 {
			delete(all, name)
		}
	}
	return all
}

func (c *chart) add(values ...float64) {
	for i, value := range values {
		c.lines[i].values = append(c.lines[i].values, value)
	}
}
