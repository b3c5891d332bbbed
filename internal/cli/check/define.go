package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// defined is the definitions that the routes are subject to.
type defined struct {
	*definitions.Set
	// trusted are the names of those that --crds names, and replaced those of all that are not the binary's.
	trusted, replaced map[string]bool
	// experimental are the binary's definitions of the experimental channel, where those of the standard one are used.
	experimental *definitions.Set
}

// define finds the definitions of the routes, before those of the input: those in Options.CRDs, and else those of the
// release channel, or of the cluster if no channel is named.
func (l *loader) define(ctx context.Context, input *source.Input) error {
	channel := cmp.Or(l.options.Channel, definitions.Standard)
	set, err := definitions.Embedded(channel)
	if errors.Is(err, definitions.ErrNotBuiltIn) && (len(l.options.CRDs) > 0 || l.options.Cluster != nil && l.options.Channel == "") {
		set, err = definitions.New(), nil
	}
	if err != nil {
		return err
	}
	l.defined = &defined{Set: set, trusted: map[string]bool{}, replaced: map[string]bool{}}
	if channel == definitions.Standard {
		l.defined.experimental, _ = definitions.Embedded(definitions.Experimental) // else there is nothing to advise
	}
	for _, f := range input.Read(l.options.CRDs) {
		l.broken = append(l.broken, f.Broken...)
		for _, document := range f.Documents {
			if !definesRoutes(document.Key) {
				continue
			}
			l.defined.trusted[document.Key.Name], l.defined.replaced[document.Key.Name] = true, true
			if err := set.PutJSON(document.JSON); err != nil {
				l.broken = append(l.broken, broken(&document, err))
			}
		}
	}
	if err := errors.Join(input.Errors()...); err != nil {
		return err
	}
	if len(l.options.CRDs) > 0 && len(l.defined.trusted) == 0 {
		return fmt.Errorf("no CustomResourceDefinition of a route kind in %s", strings.Join(l.options.CRDs, ", "))
	}
	if l.options.Cluster != nil {
		return l.ofCluster(ctx)
	}
	return nil
}

// named reports whether the user names the definition, by --crds or --channel, so that no other one counts.
func (l *loader) named(definition string) bool {
	return l.options.Channel != "" || l.defined.trusted[definition]
}

// ofCluster takes the definitions of the cluster that the user does not name, where they may be read.
func (l *loader) ofCluster(ctx context.Context) error {
	for _, kind := range mesh.RouteKinds() {
		name := definitionName(kind)
		if l.named(name) {
			continue
		}
		data, err := l.options.Cluster.Definition(ctx, name)
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			continue
		case errors.Is(err, mesh.ErrNotFound):
			l.defined.Remove(schema.GroupKind{Group: mesh.GatewayGroup, Kind: string(kind)})
			err = nil
		case err == nil:
			err = l.defined.PutJSON(data)
		}
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", name, err)
		}
		l.defined.replaced[name] = true
	}
	return nil
}

func definitionName(kind mesh.RouteKind) string { return kind.Resource() + "." + mesh.GatewayGroup }

// redefine has routes judged by a definition of the input, unless the user names one. The input may be somebody else's.
func (l *loader) redefine(d *source.Document, file string) error {
	if l.named(d.Key.Name) {
		return nil
	}
	foreign, err := l.defined.PutForeign(d.JSON)
	if foreign {
		l.defined.replaced[d.Key.Name] = true
		l.notices = append(l.notices, report.Notice{
			Path: filepath.ToSlash(file), Fails: true,
			Message: "its CustomResourceDefinition " + d.Key.Name + " is not one that gammaguard is built with, and is used without its CEL rules; to trust a definition, name it with --crds",
		})
	}
	return err
}

// definesRoutes reports whether the object is the definition of a route kind.
func definesRoutes(key manifest.Key) bool {
	if key.Kind != "CustomResourceDefinition" {
		return false
	}
	resource, inGroup := strings.CutSuffix(key.Name, "."+mesh.GatewayGroup)
	return inGroup && slices.ContainsFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool { return kind.Resource() == resource })
}

// broken returns the error as one about the document.
func broken(d *source.Document, err error) error {
	origin := d.Origin
	origin.Line = d.Line("")
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		err = at.Err
	}
	return &manifest.Error{Origin: origin, Err: err}
}

// apiVersions returns what a template may ask for (.Capabilities.APIVersions.Has) of the
// Gateway API: the versions, and the kinds in each.
func (d *defined) apiVersions() []string {
	var versions []string
	for _, kind := range mesh.RouteKinds() {
		served, _ := d.Served(schema.GroupKind{Group: mesh.GatewayGroup, Kind: string(kind)}) // none that can be read
		for _, version := range served {
			name := mesh.GatewayGroup + "/" + version
			if !slices.Contains(versions, name) {
				versions = append(versions, name)
			}
			versions = append(versions, name+"/"+string(kind))
		}
	}
	return versions
}
