package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Detected is what a cluster has of one mesh.
type Detected struct {
	Profile *mesh.Profile
	// Groups are the API groups of the mesh that are served.
	Groups []string
	// Controllers are the Deployments of its control plane, as "namespace/name".
	Controllers []string
	// Version is the release by the images of the Deployments; empty where they name none, or
	// several.
	Version string
}

// Name returns the value of mesh in the configuration: "kuma@2.13.1".
func (d *Detected) Name() mesh.ProfileName {
	if d.Version == "" {
		return d.Profile.Name
	}
	return d.Profile.Name + "@" + mesh.ProfileName(d.Version)
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// DetectMeshes returns the meshes of which the cluster has anything that the user may read.
func (c *Cluster) DetectMeshes(ctx context.Context) ([]Detected, error) {
	served, err := c.discovery.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("ask which API groups are served: %w", err)
	}
	var found []Detected
	for _, profile := range mesh.Profiles() {
		d := Detected{Profile: profile}
		for _, group := range profile.Groups.Value {
			if slices.ContainsFunc(served.Groups, func(g metav1.APIGroup) bool { return g.Name == group }) {
				d.Groups = append(d.Groups, group)
			}
		}
		list, err := c.objects.Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: profile.Controller.Value})
		switch {
		case apierrors.IsForbidden(err):
			c.unseen["Deployments across all namespaces"] = true
		case err != nil:
			return nil, fmt.Errorf("list Deployments of all namespaces: %w", err)
		default:
			var versions []string
			for i := range list.Items {
				d.Controllers = append(d.Controllers, list.Items[i].GetNamespace()+"/"+list.Items[i].GetName())
				versions = append(versions, imageVersions(&list.Items[i])...)
			}
			slices.Sort(versions)
			if versions = slices.Compact(versions); len(versions) == 1 {
				d.Version = versions[0]
			}
		}
		if len(d.Groups)+len(d.Controllers) > 0 {
			found = append(found, d)
		}
	}
	return found, nil
}

// imageVersions returns the tags of the Deployment's images that are versions.
func imageVersions(deployment *unstructured.Unstructured) []string {
	var versions []string
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers") // none if it has another type
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		image, _ := fields["image"].(string)
		image, _, _ = strings.Cut(image, "@") // the digest
		if at := strings.LastIndexByte(image, ':'); at >= 0 && mesh.IsRelease(image[at+1:]) {
			versions = append(versions, image[at+1:])
		}
	}
	return versions
}

// Propose returns the one mesh that applies routes in a cluster, and a note on what speaks
// against it, if anything. A control plane that is there counts before definitions that
// may be left over. Many clusters have Cilium for their Pod network alone, so another mesh
// counts before it. The error says why there is none to propose.
func Propose(found []Detected) (proposal *Detected, note string, err error) {
	candidates := slices.Clone(found)
	if running := slices.DeleteFunc(slices.Clone(found), func(d Detected) bool { return len(d.Controllers) == 0 }); len(running) > 0 {
		candidates = running
	} else {
		note = "no control plane was found, only its API groups"
	}
	if len(candidates) > 1 {
		before := len(candidates)
		candidates = slices.DeleteFunc(candidates, func(d Detected) bool { return d.Profile.Name == mesh.Cilium })
		if len(candidates) < before {
			note = "Cilium is assumed to be the Pod network only"
		}
	}
	switch len(candidates) {
	case 0:
		return nil, "", errors.New("no mesh was found")
	case 1:
		return &candidates[0], note, nil
	}
	return nil, "", errors.New("more than one mesh was found")
}

// Detection is what was found, in JSON.
type Detection struct {
	report.TypeMeta
	Detected []detected `json:"detected"`
	// Proposal is the value of mesh in the configuration; empty if there is none, and Note says why.
	Proposal mesh.ProfileName `json:"proposal"`
	Note     string           `json:"note,omitempty"`
}

// detected is a mesh in JSON.
type detected struct {
	Mesh        mesh.ProfileName `json:"mesh"`
	Groups      []string         `json:"groups"`
	Controllers []string         `json:"controllers"`
	Version     string           `json:"version,omitempty"`
}

// NewDetection returns what was found, with what Propose says of it.
func NewDetection(found []Detected) *Detection {
	of := &Detection{TypeMeta: report.Typed("MeshDetection"), Detected: []detected{}}
	for _, d := range found {
		of.Detected = append(of.Detected, detected{d.Profile.Name, append([]string{}, d.Groups...), append([]string{}, d.Controllers...), d.Version})
	}
	proposal, note, err := Propose(found)
	if of.Note = note; err != nil {
		of.Note = err.Error()
	} else {
		of.Proposal = proposal.Name()
	}
	return of
}

// DetectedTable writes what was found, a line a mesh.
func DetectedTable(w io.Writer, found []Detected) error {
	table := printers.GetNewTabWriter(w)
	printable.Row(table, "MESH", "API GROUPS", "CONTROLLERS", "VERSION")
	for _, d := range found {
		printable.Fprintf(table, "%s\t%s\t%s\t%s\n", d.Profile.Title, orNone(d.Groups), orNone(d.Controllers), cmp.Or(d.Version, "<unknown>"))
	}
	return table.Flush()
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "<none>"
	}
	return strings.Join(names, ",")
}
