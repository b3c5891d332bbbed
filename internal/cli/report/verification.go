package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// VerificationKind is the kind of the JSON form of what gammaguard verify found.
const VerificationKind = "TrafficVerification"

// Verification is where gammaguard and the proxies of a mesh differ. Its JSON form is documented in docs/cli.
type Verification struct {
	TypeMeta
	// File is what the proxies were given, and Format its format.
	File    string              `json:"file,omitempty"`
	Format  string              `json:"format"`
	Mesh    string              `json:"mesh,omitempty"`
	Summary VerificationSummary `json:"summary"`
	// Ports are the Service ports with differences.
	Ports []*VerifiedPort `json:"ports,omitempty"`
	// Notes say what is not compared.
	Notes []string `json:"notes,omitempty"`
}

// VerificationSummary counts what was compared: Service ports, as the clients of a namespace find them, the classes
// of requests to them, and the requests that stand for these.
type VerificationSummary struct {
	Ports    int `json:"ports"`
	Classes  int `json:"classes"`
	Requests int `json:"requests"`
	// Differ counts the classes with a difference.
	Differ int `json:"differ"`
}

// VerifiedPort is what differs for the requests from a namespace to a Service port.
type VerifiedPort struct {
	Service     string           `json:"service"`
	Namespace   string           `json:"namespace"`
	Port        int32            `json:"port"`
	From        string           `json:"from"`
	Differences []*VerifiedClass `json:"differences"`
	// requests counts those that were compared, by what decides them.
	requests map[string]int
}

// VerifiedClass is a class of requests for which the two sides differ, at least for some of them.
type VerifiedClass struct {
	From  string `json:"from"`
	Class string `json:"class"`
	// Differs names what differs: "backends", "timeout" and so on.
	Differs []string `json:"differs"`
	Ours    string   `json:"ours"`
	Theirs  string   `json:"theirs"`
	// Chosen is gammaguard's match that decides; nil where none does.
	Chosen *traffic.Place `json:"chosen,omitempty"`
	// Example is one of the requests, and Requests how many of those compared differ so.
	Example  traffic.Request `json:"example"`
	Requests int             `json:"requests"`
}

// mostNotes is how many notes are kept.
const mostNotes = 1000

// Note adds a note, once.
func (v *Verification) Note(format string, args ...any) {
	note := printable.Sprintf(format, args...)
	switch {
	case slices.Contains(v.Notes, note), len(v.Notes) > mostNotes:
		return
	case len(v.Notes) == mostNotes:
		note = "there are more notes"
	}
	v.Notes = append(v.Notes, note)
}

// Port adds a Service port, as the clients of a namespace find it.
func (v *Verification) Port(key mesh.ServiceKey, port int32, from string) *VerifiedPort {
	p := &VerifiedPort{Service: key.String(), Namespace: key.Namespace, Port: port, From: from, requests: map[string]int{}}
	v.Ports = append(v.Ports, p)
	return p
}

// Count counts a request that was compared, by what decides it.
func (p *VerifiedPort) Count(place string) { p.requests[place]++ }

// Finish makes the summary, leaves out ports without differences, and makes texts of others that only show.
func (v *Verification) Finish() {
	v.Summary = VerificationSummary{Ports: len(v.Ports)}
	for _, p := range v.Ports {
		v.Summary.Classes += len(p.requests)
		for _, n := range p.requests {
			v.Summary.Requests += n
		}
		places := map[string]bool{}
		for _, d := range p.Differences {
			place := ""
			if d.Chosen != nil {
				place = d.Chosen.String()
			}
			places[place] = true
			d.Class, d.Ours, d.Theirs = printable.Text(d.Class), printable.Text(d.Ours), printable.Text(d.Theirs)
		}
		v.Summary.Differ += len(places)
	}
	v.Ports = slices.DeleteFunc(v.Ports, func(p *VerifiedPort) bool { return len(p.Differences) == 0 })
}

// Text writes what differs for people, with colors if told so.
func (v *Verification) Text(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	paint := newPainter(color)
	for _, p := range v.Ports {
		printable.Fprintf(out, "%s\n", paint(printable.Bold, fmt.Sprintf("%s port %d, from namespace %s", p.Service, p.Port, p.From)))
		for _, d := range p.Differences {
			printable.Fprintf(out, "  %s\n", paint(printable.BoldRed, orEvery(d.Class)))
			printable.Fprintf(out, "    gammaguard: %s\n", d.Ours)
			printable.Fprintf(out, "    proxies:    %s\n", d.Theirs)
			printable.Fprintf(out, "    example:    gammaguard trace %s\n", printable.Layout(d.Example.String()))
		}
		printable.Fprintf(out, "\n")
	}
	for _, note := range v.Notes {
		printable.Fprintf(out, "note: %s\n", note)
	}
	printable.Fprintf(out, "%s\n", &v.Summary)
	return out.Flush()
}

// orEvery names a class of all requests.
func orEvery(class string) string {
	if class == "" {
		return "every request"
	}
	return class
}

// String reads "12 classes of requests compared at 3 Service ports: no difference".
func (s *VerificationSummary) String() string {
	text := Count(s.Classes, "class", "classes") + " of requests compared at " + Count(s.Ports, "Service port", "Service ports")
	switch s.Differ {
	case 0:
		return text + ": no difference"
	case 1:
		return text + ": 1 differs"
	}
	return text + fmt.Sprintf(": %d differ", s.Differ)
}
