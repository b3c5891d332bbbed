package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// maxUnseen is how many objects a notice names.
const maxUnseen = 8

// notice writes what the answer lacks, and how to get it: one line, or nothing. Judged says that the
// configuration bears on the answer.
func (a *access) notice(w io.Writer, live *cluster.Cluster, judged bool) error {
	if live == nil {
		return nil
	}
	unseen, cause := live.Unseen(), ""
	if a.unconfigured != nil {
		cause, _, _ = strings.Cut(a.unconfigured.Error(), ": ") // the object
		unseen = slices.DeleteFunc(unseen, func(what string) bool { return what == cause })
	}
	unseen = shortened(unseen)
	const role = "ask for the ClusterRole gammaguard-viewer"
	cannot := "ou cannot read " + strings.Join(unseen, ", ")
	const incomplete = ", so the result may be incomplete"
	var line string
	switch {
	case errors.Is(a.unconfigured, mesh.ErrNotFound):
		line = "gammaguard is not installed (" + cause + " does not exist), so the default configuration is used; if it has another name, specify --installation"
		if len(unseen) > 0 {
			line += ". Y" + cannot + incomplete + "; " + role
		}
	case a.unconfigured != nil && judged && len(unseen) > 0:
		line = "y" + cannot + ", " + cause + incomplete + ", and the default configuration is used; ask for the Role and the ClusterRole gammaguard-viewer"
	case a.unconfigured != nil && judged:
		line = "you cannot read " + cause + ", so the default configuration is used; specify --config, or ask for the Role gammaguard-viewer"
	case len(unseen) > 0:
		line = "y" + cannot + incomplete + "; " + role
	default:
		return nil
	}
	_, err := printable.Fprintf(w, "note: %s\n", line)
	return err
}

// writeNotes writes notes on the input.
func writeNotes(cmd *cobra.Command, notes []string) {
	for _, note := range notes {
		printable.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
}

// shortened returns what cannot be read in few words: routes of all kinds are routes, those of many
// namespaces are counted, unless they are part of those across all, and so is what there is besides.
func shortened(unseen []string) []string {
	var kinds []string
	for _, kind := range mesh.RouteKinds() {
		kinds = append(kinds, string(kind))
	}
	var short, routes []string
	for _, what := range unseen {
		what = strings.TrimSuffix(what, " ("+strings.Join(kinds, ", ")+")")
		if strings.HasPrefix(what, "routes in namespace ") {
			routes = append(routes, what)
		} else {
			short = append(short, what)
		}
	}
	switch {
	case len(routes) > 2 && slices.Contains(short, "routes across all namespaces"):
		routes = nil
	case len(routes) > 2:
		routes = []string{fmt.Sprintf("routes in %d namespaces", len(routes))}
	}
	short = append(short, routes...)
	if more := len(short) - maxUnseen; more > 0 {
		short = append(short[:maxUnseen], fmt.Sprintf("and %d more", more))
	}
	return short
}
