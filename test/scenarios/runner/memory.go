package runner

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// memory is as much of an API server, and of kubectl apply, as the core and the
// webhook's handlers can tell from a real one. It does not check schemas, and
// knows no other admission control.
type memory struct {
	schemas *schemas
	set     *manifest.Set
	objects map[manifest.Key]map[string]any
	// created counts objects: each is a second younger than the one before.
	created int64
}

func newMemory(schemas *schemas) *memory {
	return &memory{
		schemas: schemas,
		set:     manifest.NewSet(manifest.Options{Complete: true}),
		objects: map[manifest.Key]map[string]any{},
	}
}

// change is one object on its way into the memory.
type change struct {
	key     manifest.Key
	version string
	// object is as it would be stored; old is what is stored, nil on CREATE.
	object, old map[string]any
	// unchanged: kubectl apply sends no request.
	unchanged bool
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// apply works out what kubectl apply makes of the document.
func (m *memory) apply(document *Document) (*change, error) {
	var applied map[string]any
	if err := json.Unmarshal(document.JSON, &applied); err != nil {
		return nil, err
	}
	c := &change{key: document.Key, version: document.Version, old: m.objects[document.Key]}
	if !document.ServerSide {
		annotate(applied, lastApplied, string(document.JSON))
	}
	if c.old == nil {
		c.object = applied
		m.complete(c)
		return c, nil
	}
	var err error
	if c.object, err = merge(c.old, applied, document.ServerSide); err != nil {
		return nil, err
	}
	c.unchanged = !document.ServerSide && reflect.DeepEqual(c.object, c.old)
	m.complete(c)
	return c, nil
}

// merge changes the stored object into what is applied. Fields that were applied
// before and are not any more go, unless the server merges.
func merge(stored, applied map[string]any, serverSide bool) (map[string]any, error) {
	current, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(applied)
	if err != nil {
		return nil, err
	}
	if !serverSide {
		original := annotation(stored, lastApplied)
		if patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(original), patch, current); err != nil {
			return nil, err
		}
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = json.Unmarshal(merged, &object)
	return object, err
}

// complete fills in what an API server does before admission.
func (m *memory) complete(c *change) {
	metadata := metadataOf(c.object)
	if c.old == nil {
		if m.isRoute(c) {
			delete(c.object, "status")
		}
		n := m.created + 1
		metadata["creationTimestamp"] = firstCreation.Add(time.Duration(n) * time.Second).Format(time.RFC3339)
		metadata["uid"] = fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
		metadata["generation"] = int64(1)
	} else if m.isRoute(c) {
		if status, has := c.old["status"]; has {
			c.object["status"] = status
		} else {
			delete(c.object, "status")
		}
	}
	metadata["resourceVersion"] = strconv.FormatInt(m.created+1, 10)
	m.schemas.setDefaults(c.key, c.version, c.object)
}

// firstCreation is before the creation of every object.
var firstCreation = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *memory) isRoute(c *change) bool {
	return (&manifest.Object{Key: c.key}).IsRoute()
}

// store carries the change out.
func (m *memory) store(c *change) error {
	m.schemas.setDefaults(c.key, c.version, c.object)
	if c.old != nil && !reflect.DeepEqual(c.object["spec"], c.old["spec"]) {
		generation, _ := metadataOf(c.old)["generation"].(int64)
		metadataOf(c.object)["generation"] = generation + 1
	}
	text, err := json.Marshal(c.object)
	if err != nil {
		return err
	}
	objects, errs := manifest.Read(c.key.String(), text, "default")
	if len(errs) > 0 {
		return errs[0]
	}
	for _, object := range objects {
		if err := m.set.Put(object); err != nil {
			return err
		}
	}
	m.created++
	m.objects[c.key] = c.object
	return nil
}

// put stores the document as it is, its status too.
func (m *memory) put(document *Document) error {
	c, err := m.apply(document)
	if err != nil {
		return err
	}
	var whole map[string]any
	if err := json.Unmarshal(document.JSON, &whole); err != nil {
		return err
	}
	if status, has := whole["status"]; has {
		c.object["status"] = status
	}
	return m.store(c)
}

// remove deletes the object, with a namespace all that is in it.
func (m *memory) remove(key manifest.Key) error {
	if !m.set.Delete(key) && m.objects[key] == nil {
		return fmt.Errorf("%s: there is none to delete", key)
	}
	delete(m.objects, key)
	if key.Kind != "Namespace" || key.Group != "" {
		return nil
	}
	for other := range m.objects {
		if other.Namespace == key.Name {
			if err := m.remove(other); err != nil {
				return err
			}
		}
	}
	return nil
}

// metadataOf returns the object's metadata, which every document has.
func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

func annotate(object map[string]any, key, value string) {
	metadata := metadataOf(object)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[key] = value
}

func annotation(object map[string]any, key string) string {
	annotations, _ := metadataOf(object)["annotations"].(map[string]any)
	value, _ := annotations[key].(string)
	return value
}
