package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func parentPortNotFound() *validate.Rule {
	return &validate.Rule{
		ID:    "parent-port-not-found",
		Title: "The parentRef's port and sectionName select no port of the Service",
		Rationale: "A route with a port applies to that port only, and sectionName is the name of a Service port. If no port matches, or if both " +
			"fields are set and no single port matches both, the route applies to no port. After a port is renamed, a manifest with the old name alone " +
			"is denied also where it is applied again unchanged. Without the number that parent-port had set, most meshes would apply the route to all ports.",
		Remedy: "Use a port number or a port name of the Service (not a targetPort), or omit both to attach to all ports. " +
			"In a single kubectl apply, the Service that gets the port must come before the route.",
		Citation: "GEP-1294, Ports: if port is set, the implementation MUST associate the route only with that port; " +
			"Gateway API, ParentReference: sectionName of a Service is a port name",
		Default:  validate.Deny,
		Fault:    validate.ParentPortNotFound,
		Describe: describeParentPortNotFound,
	}
}

func describeParentPortNotFound(_ *validate.Policy, parent *validate.Parent) validate.Finding {
	f := validate.Finding{
		Remedy:    useOneOf(parent.Service.Ports, parent.Route.Kind.Transport()),
		Reference: parent.Reference(),
	}
	ref := parent.Ref
	numberFits := slices.ContainsFunc(parent.Service.Ports, func(port mesh.Port) bool { return port.Number == ref.Port })
	nameFits := slices.ContainsFunc(parent.Service.Ports, func(port mesh.Port) bool { return port.Name == ref.SectionName })
	switch {
	case len(parent.Service.Ports) == 0:
		f.Field, f.Value = parent.Path("name"), ref.Name
		f.Problem = fmt.Sprintf("%s has no ports", parent.Key)
	case ref.Port != 0 && !numberFits:
		f.Field, f.Value = parent.Path("port"), ref.Port
		f.Problem = fmt.Sprintf("%s has no port %d", parent.Key, ref.Port)
	case ref.Port != 0 && nameFits:
		f.Field, f.Value, f.Remedy = parent.Path("sectionName"), ref.SectionName, useSectionName(ref, parent.Service.Ports, parent.Route.Kind.Transport())
		f.Problem = fmt.Sprintf("port %d of %s is not named %s", ref.Port, parent.Key, ref.SectionName)
	default:
		f.Field, f.Value, f.Remedy = parent.Path("sectionName"), ref.SectionName, useSectionName(ref, parent.Service.Ports, parent.Route.Kind.Transport())
		f.Problem = fmt.Sprintf("%s has no port named %s", parent.Key, ref.SectionName)
	}
	return f
}

// maxListed is the maximum number of names that a message lists.
const maxListed = 6

// usable returns the ports with the protocol.
func usable(ports []mesh.Port, protocol mesh.Protocol) []mesh.Port {
	return slices.DeleteFunc(slices.Clone(ports), func(port mesh.Port) bool { return port.Protocol != protocol })
}

// useOneOf lists the ports that can be used instead: those with the protocol. One without a number, which only files can have, cannot.
func useOneOf(ports []mesh.Port, protocol mesh.Protocol) string {
	all := usable(ports, protocol)
	if len(all) == 0 {
		return fmt.Sprintf("add a %s port to it", protocol)
	}
	if slices.ContainsFunc(all, func(port mesh.Port) bool { return port.Number == 0 }) {
		return "give each of its ports a number"
	}
	return "use one of its ports: " + portList(all)
}

// useSectionName says what to write in the place of a sectionName that names no such port: the name of the port of that number, if
// there is one, or the number of the port of that name, if another one has it.
func useSectionName(ref *mesh.ParentRef, ports []mesh.Port, protocol mesh.Protocol) string {
	all := usable(ports, protocol)
	meant := slices.IndexFunc(all, func(port mesh.Port) bool {
		return port.Number == ref.Port || strconv.Itoa(int(port.Number)) == ref.SectionName
	})
	another := ""
	if named := slices.IndexFunc(all, func(port mesh.Port) bool { return port.Name == ref.SectionName }); named >= 0 {
		another = fmt.Sprintf("use port: %d, or ", all[named].Number)
	}
	switch {
	case meant >= 0:
		all = all[meant : meant+1]
	case len(all) == 0, ref.Port != 0:
		return useOneOf(ports, protocol)
	case len(all) > 1:
		return "name one of its ports: " + portList(all)
	}
	switch port := all[0]; {
	case ref.Port != 0 && port.Name == "":
		return another + "omit sectionName"
	case ref.Port != 0:
		return cmp.Or(another, "use ") + "sectionName: " + port.Name + ", or omit it"
	case port.Name == "":
		return fmt.Sprintf("replace sectionName with port: %d", port.Number)
	default:
		return fmt.Sprintf("use sectionName: %s, or port: %d", port.Name, port.Number)
	}
}

// portList lists ports for a message.
func portList(ports []mesh.Port) string {
	names := make([]string, 0, len(ports))
	for _, port := range ports {
		names = append(names, port.String())
	}
	return shortList(names)
}

// portsNamed reads "port 80" or "ports 80, 443".
func portsNamed(numbers []string) string {
	if len(numbers) == 1 {
		return "port " + numbers[0]
	}
	return "ports " + shortList(numbers)
}

// shortList joins the first few names, and counts the rest.
func shortList(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}
