package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// kustomize builds the folder.
func (c *child) kustomize(job *kustomization) (resources []Resource, _ error) {
	files := asked{child: c, kustomization: job.File}
	if c.remote {
		temporary, err := filepath.EvalSymlinks(os.TempDir())
		if err != nil {
			return nil, err
		}
		files.fetched = temporary
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, job.Folder)
	if err != nil {
		return nil, err
	}
	for _, res := range built.Resources() {
		r := Resource{Origin: originOf(res)}
		if r.JSON, err = withoutOrigin(res); err != nil {
			return nil, fmt.Errorf("%s: %w", res.CurId(), err) // as kustomize fails where it writes it
		}
		resources = append(resources, r)
	}
	return resources, nil
}

const originAnnotation = "config.kubernetes.io/origin"

// originOf returns the file that the resource comes from, if it is in the repository.
func originOf(res *resource.Resource) string {
	var origin resource.Origin
	text := res.GetAnnotations()[originAnnotation]
	if yaml.Unmarshal([]byte(text), &origin) == nil && origin.Repo == "" {
		return origin.Path
	}
	return ""
}

// withoutOrigin returns the resource as JSON, as it would be applied.
func withoutOrigin(res *resource.Resource) ([]byte, error) {
	annotations := res.GetAnnotations()
	delete(annotations, originAnnotation)
	if err := res.SetAnnotations(annotations); err != nil {
		return nil, err
	}
	return res.MarshalJSON()
}

// asked is the file system of the parent, which only reads. In one kustomization it asks for annotations
// that say where each resource comes from.
type asked struct {
	*child
	kustomization string
	// fetched is where kustomize puts what it fetches; empty if it must not.
	fetched string
}

// isFetched reports whether the path is one of what was fetched: the parent made the folder
// for temporary files.
func (a asked) isFetched(path string) bool {
	return a.fetched != "" && strings.HasPrefix(path, a.fetched+string(filepath.Separator))
}

// ReadFile reads a file. A kustomization that is not one stays as it is, for
// kustomize to say what is wrong.
func (a asked) ReadFile(path string) ([]byte, error) {
	data, err := a.read(path)
	if err != nil {
		return nil, err
	}
	if a.remote {
		if ref, err := optionIn(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		} else if ref != "" {
			return nil, fmt.Errorf("%s: %q: a git ref must not begin with -", path, ref)
		}
	}
	if path != a.kustomization {
		return data, nil
	}
	var fields map[string]any
	text, err := yaml.ToJSONStrict(data)
	if err != nil || json.Unmarshal(text, &fields) != nil || fields == nil {
		return data, nil //nolint:nilerr // kustomize says what is wrong
	}
	options, _ := fields["buildMetadata"].([]any)
	fields["buildMetadata"] = append(options, types.OriginAnnotations)
	if text, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	return yaml.FromJSON(text)
}

func (a asked) read(path string) ([]byte, error) {
	if a.isFetched(path) {
		return repository.Read(path)
	}
	found, err := a.ask(&question{Path: path})
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

// CleanedAbs returns the path without links, as a folder and a file in it.
func (a asked) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if a.isFetched(path) {
		return filesys.MakeFsOnDisk().CleanedAbs(path)
	}
	found, err := a.ask(&question{Path: path, Resolve: true})
	switch {
	case err != nil:
		return "", "", err
	case found.IsFolder:
		return filesys.ConfirmedDir(found.Resolved), "", nil
	default:
		return filesys.ConfirmedDir(filepath.Dir(found.Resolved)), filepath.Base(found.Resolved), nil
	}
}

// IsDir reports whether the path is a folder.
func (a asked) IsDir(path string) bool {
	found, err := a.ask(&question{Path: path, Resolve: true})
	return err == nil && found.IsFolder
}

// Exists reports whether the path exists.
func (a asked) Exists(path string) bool {
	_, err := a.ask(&question{Path: path, Resolve: true})
	return err == nil
}

// RemoveAll removes what was fetched.
func (a asked) RemoveAll(path string) error {
	if !a.isFetched(path) {
		return errReadOnly
	}
	return os.RemoveAll(path)
}

var errReadOnly = errors.New("only ReadFile, CleanedAbs, IsDir, and Exists are supported")

// Create is not supported, as all that follows.
func (asked) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is not supported.
func (asked) Mkdir(string) error { return errReadOnly }

// MkdirAll is not supported.
func (asked) MkdirAll(string) error { return errReadOnly }

// Open is not supported.
func (asked) Open(string) (filesys.File, error) { return nil, errReadOnly }

// ReadDir is not supported.
func (asked) ReadDir(string) ([]string, error) { return nil, errReadOnly }

// Glob is not supported.
func (asked) Glob(string) ([]string, error) { return nil, errReadOnly }

// WriteFile is not supported.
func (asked) WriteFile(string, []byte) error { return errReadOnly }

// Walk is not supported.
func (asked) Walk(string, filepath.WalkFunc) error { return errReadOnly }
