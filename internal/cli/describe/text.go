package describe

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/bindings"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Text writes the description for people.
func (d *Service) Text(w io.Writer) error {
	facts := [][]string{{"Name:", d.Name}, {"Namespace:", d.Namespace}, {"Type:", d.Type}}
	if len(d.ReplacedIn) > 0 {
		facts = append(facts, []string{"Producer routes replaced in:", strings.Join(d.ReplacedIn, ", ")})
	}
	settings := [][]string{{"CONSUMER ROUTES", "VALUE", "SET BY"}}
	for _, s := range d.ConsumerRoutes {
		settings = append(settings, []string{s.Key, s.text(), s.From})
	}
	routes := [][]string{{"PORT", "SCOPE", "ROUTE", "STATE", "ACKNOWLEDGED", "REASON"}}
	for i := range d.Routes {
		r := &d.Routes[i]
		port := "-"
		if r.Port != 0 {
			port = fmt.Sprintf("%d/%s", r.Port, r.Protocol)
		}
		routes = append(routes, []string{port, r.Scope, r.Route, string(r.State), cmp.Or(r.Acknowledged, "-"), cmp.Or(r.Reason, d.leavesBy(r), "-")})
	}
	sections := []section{{"", facts}, {"", settings}, {"Routes on this " + d.kind + ":", routes}}
	if len(d.Routes) == 0 {
		sections[2] = section{"No routes on this " + d.kind + ".", nil}
	}
	if len(d.BackendOf) > 0 {
		users := make([][]string, len(d.BackendOf))
		for i, route := range d.BackendOf {
			users[i] = []string{route}
		}
		sections = append(sections, section{"Routes that have this " + d.kind + ", which does not exist, as a backend:", users})
	}
	if len(d.GatewayRoutes) > 0 {
		sections = append(sections, section{"Routes on Gateways that send requests to this " + d.kind + ", and bypass the routes on it:", d.gatewayRoutes()})
	}
	return write(w, sections, "Grants of its namespace, and of those of the routes on it:", d.Grants, d.Notes)
}

// section is a table under a heading, which can be empty.
type section struct {
	heading string
	table   [][]string
}

// write writes the sections, with an empty line after each, the grants, if there are some, and the notes.
func write(w io.Writer, sections []section, heading string, granted []grants.Namespace, notes []string) error {
	for _, s := range sections {
		if s.heading != "" {
			printable.Row(w, s.heading)
		}
		out := printers.GetNewTabWriter(w)
		for _, row := range s.table {
			printable.Row(out, row...)
		}
		printable.Row(out)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if len(granted) == 0 {
		return grants.WriteNotes(w, notes)
	}
	printable.Row(w, heading)
	return (&grants.List{Items: granted, Notes: notes}).TableWithoutRoutes(w)
}

// text is the value, with what an unknown one of the label acts as: "no (unknown: deny)", and
// that an annotation cannot be read.
func (s *Setting) text() string {
	shown := cmp.Or(s.Value, "-")
	if s.Invalid {
		shown += " (cannot be read: " + string(mesh.ConsumersDenied) + ")"
	}
	if s.Key == mesh.ConsumerRoutesLabel && s.From != unknown && s.Value != string(mesh.ConsumersAllowed) && s.Value != string(mesh.ConsumersDenied) {
		shown += " (unknown: " + string(mesh.ConsumersDenied) + ")"
	}
	return shown
}

// gatewayRoutes is the table of the routes on Gateways, which bypass those on the Service.
func (d *Service) gatewayRoutes() [][]string {
	table := [][]string{{"ROUTE", "GATEWAYS", "PORT", "PROBLEM"}}
	for i := range d.GatewayRoutes {
		g := &d.GatewayRoutes[i]
		port := "-"
		if g.Port != 0 {
			port = strconv.Itoa(int(g.Port))
		}
		table = append(table, []string{g.Route, strings.Join(g.Gateways, ", "), port, cmp.Or(g.Problem, "-")})
	}
	return table
}

// leavesBy reads "sends requests to port 80 of this Service", or is empty.
func (d *Service) leavesBy(r *bindings.Route) string {
	if len(r.LeavesBy) == 0 {
		return ""
	}
	ports := make([]string, len(r.LeavesBy))
	for i, port := range r.LeavesBy {
		ports[i] = strconv.Itoa(int(port))
	}
	return "sends requests to port " + strings.Join(ports, ", ") + " of this " + d.kind
}
