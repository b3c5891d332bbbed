package check

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// renamedKey is a Service as its manifest names it, in the set that a kustomization built.
type renamedKey struct {
	kustomization string
	mesh.ServiceKey
}

// noteName notes that kustomize gave a Service, or a ServiceImport, another name.
func (l *loaded) noteName(kustomization string, d *source.Document) {
	kind := d.Key.Kind
	if d.Written == nil || d.Written.Key.Name == d.Key.Name || kind != mesh.ServiceKind && kind != mesh.ServiceImportKind {
		return
	}
	if l.renamed == nil {
		l.renamed = map[renamedKey]string{}
	}
	l.renamed[renamedKey{kustomization, mesh.ServiceKey{Kind: kind, Namespace: d.Key.Namespace, Name: d.Written.Key.Name}}] = d.Key.Name
}

// ofNames returns the findings about the names in references that only a set of files shows: the set
// has a Service that a reference means, and does not name.
func (l *loaded) ofNames(r *route) (found []report.Finding, err error) {
	for i := range r.mutated.Spec.ParentRefs {
		ref := &r.mutated.Spec.ParentRefs[i]
		switch ref.Class(l.engine.Policy().Mesh) {
		case mesh.MeshParent, mesh.LookAlikeParent:
			found = l.unrenamed(found, r, mesh.ParentPath(i, "name"), "parentRefs", ref.Service(r.Key.Namespace))
		default:
			if i < len(r.Route.Spec.ParentRefs) && r.Route.Spec.ParentRefs[i].Kind == "" {
				if found, err = l.withoutKind(found, r, i); err != nil {
					return nil, err
				}
			}
		}
	}
	if !r.mutated.HasMeshParent(l.engine.Policy().Mesh) {
		return found, nil
	}
	for backend := range r.mutated.Backends() {
		if backend.Ref.IsService(l.engine.Policy().Mesh) {
			found = l.unrenamed(found, r, backend.Path()+".name", "backendRefs", backend.Ref.Service(r.Key.Namespace))
		}
	}
	return found, nil
}

// tells reports whether one of the findings about names says why there is no Service as the other one has it, or none that is known.
// It has the effect of the other one then.
func tells(names []report.Finding, of *report.Finding, effect validate.Action) bool {
	missing := of.Lacks
	if of.Rule == "parent-not-found" || of.Rule == "backend-not-found" {
		missing = of.Reference.Service.String()
	}
	for i := range names {
		n := &names[i]
		if n.Rule == explain.NameReference && n.Field == of.Field && n.Reference.Service.String() == missing {
			n.Effect = effect
			return true
		}
	}
	return false
}

// has reports whether the Service is in the input.
func (l *loaded) has(key mesh.ServiceKey) bool {
	return l.world.files.Get(manifest.Key{Group: serviceGroup(key.Kind), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}) != nil
}

func serviceGroup(kind string) string {
	if kind == mesh.ServiceImportKind {
		return mesh.MulticlusterGroup
	}
	return ""
}

// unrenamed adds a finding if kustomize gave the Service that a reference names another name, and
// there is none of the name that the reference has.
func (l *loaded) unrenamed(found []report.Finding, r *route, field, list string, key mesh.ServiceKey) []report.Finding {
	built := l.renamed[renamedKey{r.file.Kustomization(), key}]
	if built == "" || l.has(key) {
		return found
	}
	by := "namePrefix and nameSuffix do"
	switch {
	case strings.HasSuffix(built, key.Name):
		by = "namePrefix does"
	case strings.HasPrefix(built, key.Name):
		by = "nameSuffix does"
	}
	return append(found, ofInput(explain.NameReference, r, field, key,
		fmt.Sprintf("%s is not in the set, which has %s: %s not change %s", key, built, by, list),
		"add the name references of "+explain.NameReferences+" to configurations in the kustomization"))
}

// withoutKind adds a finding if the parentRef, which is to a Gateway because it has no kind, has the
// name of a Service of the input or the cluster, and no such Gateway is known. It is unknown if the user cannot
// read in the cluster whether there is such a Gateway.
func (l *loaded) withoutKind(found []report.Finding, r *route, index int) ([]report.Finding, error) {
	ref := r.Route.Spec.ParentRefs[index]
	key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: cmp.Or(ref.Namespace, r.Key.Namespace), Name: ref.Name}
	service := ref
	service.Kind = mesh.ServiceKind
	if class := service.Class(nil); class != mesh.MeshParent && class != mesh.LookAlikeParent {
		return found, nil
	}
	gateway := mesh.FindObject(l.world, mesh.ObjectKey{Group: mesh.GatewayGroup, Kind: "Gateway", Namespace: key.Namespace, Name: key.Name})
	if gateway == nil {
		return found, nil
	}
	if stored, err := l.stores(key); err != nil || !stored && !l.has(key) {
		return found, err
	}
	field, name := mesh.ParentPath(index, ""), "Gateway "+key.Namespace+"/"+key.Name
	why := fmt.Sprintf("which is not in the input; %s is", key)
	if l.world.cluster != nil && errors.Is(gateway, mesh.ErrNotFound) {
		why = fmt.Sprintf("which does not exist; %s does", key)
	}
	f := ofInput(explain.ParentKindOmitted, r, field, key, "without a kind, this is "+name+", "+why, `if the Service is meant, set group: "" and kind: Service`)
	switch {
	case !l.has(key) && !errors.Is(gateway, mesh.ErrNotFound):
		f.Effect, f.Unknown, f.Lacks = report.EffectUnknown, true, name
		f.Problem = name + " is not in the input, and you cannot read it in the cluster"
		f.Remedy = "add it to the input, or request permission to read it"
		f.Message = "cannot be determined: " + f.Problem + "; " + f.Remedy + " (" + f.Rule + ")"
	case ref.Port == 0 && ref.EffectiveGroup() == mesh.GatewayGroup: // as most references to Gateways
		f.Effect = validate.Audit
	}
	return append(found, f), nil
}

// stores reports whether the Service is in the cluster, as far as the user can read that.
func (l *loaded) stores(key mesh.ServiceKey) (bool, error) {
	if l.world.cluster == nil {
		return false, nil
	}
	service, err := mesh.Known(mesh.FindService(l.world.cluster, key))
	return service != nil, err
}

// ofInput is a warning about the input.
func ofInput(id string, r *route, field string, key mesh.ServiceKey, problem, remedy string) report.Finding {
	return report.Finding{
		Rule: id, Action: validate.Warn, Effect: validate.Warn, Field: field, Line: r.Line(field), Value: key.Name,
		Problem: problem, Remedy: remedy, Message: problem + "; " + remedy + " (" + id + ")",
		Reference: validate.Reference{Service: key, Detail: field},
	}
}
