// Package compat tries gammaguard with releases of the Gateway API, on API servers of
// several releases of Kubernetes. make compat tries them all and writes
// docs/compatibility.md; test/install tries one.
package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/bed"
)

// Kubernetes are the releases whose API servers are tried: the oldest that gammaguard
// claims to run on, one in between, and the one that it is built with.
var Kubernetes = []string{"v1.30.14", "v1.33.13", "v1.36.3"}

// GatewayAPI are the releases of the Gateway API that are tried, one of each minor since
// v1.0, and last the one that gammaguard is built with.
var GatewayAPI = []string{"v1.0.0", "v1.1.0", "v1.2.1", "v1.3.0", "v1.4.1", "v1.5.1", "v1.6.3"}

// Channels are the channels of the Gateway API.
var Channels = []string{"standard", "experimental"}

// Release is a channel of a release of the Gateway API.
type Release struct{ Version, Channel string }

// String reads "Gateway API v1.2.1 (experimental)".
func (r Release) String() string { return "Gateway API " + r.Version + " (" + r.Channel + ")" }

// Releases returns both channels of each release of the Gateway API.
func Releases() []Release {
	var all []Release
	for _, version := range GatewayAPI {
		for _, channel := range Channels {
			all = append(all, Release{version, channel})
		}
	}
	return all
}

// timeout bounds what takes seconds.
const timeout = time.Minute

// Install installs the release in place of what the cluster has of the Gateway API. An
// API server that is too old refuses some definitions: what it says is in refused, by
// the name of the definition, and the others are installed.
func (r Release) Install(ctx context.Context, cp *bed.ControlPlane) (refused map[string]string, err error) {
	objects, err := r.objects(ctx)
	if err != nil {
		return nil, err
	}
	c, err := cp.Client(apiextensionsv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	if err := uninstall(ctx, c); err != nil {
		return nil, fmt.Errorf("uninstall the Gateway API: %w", err)
	}
	refused = map[string]string{}
	for _, object := range objects {
		err := create(ctx, c, object)
		if invalid := (*apierrors.StatusError)(nil); apierrors.IsInvalid(err) && errors.As(err, &invalid) {
			refused[object.GetName()] = causes(invalid.ErrStatus)
		} else if err != nil {
			return nil, fmt.Errorf("install %s: %w", r, err)
		}
	}
	return refused, eventually(ctx, func() (bool, error) {
		var all apiextensionsv1.CustomResourceDefinitionList
		if err := c.List(ctx, &all); err != nil {
			return true, err
		}
		for i := range all.Items {
			if !established(&all.Items[i]) {
				return false, fmt.Errorf("%s is not established", all.Items[i].Name)
			}
		}
		return true, nil
	})
}

const gatewayModule = "sigs.k8s.io/gateway-api"

// objects reads the release's definitions, and its policy if it has one, from its module.
func (r Release) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	root, err := bed.Root()
	if err != nil {
		return nil, err
	}
	out, err := bed.Go(ctx, root, nil, "mod", "download", "-json", gatewayModule+"@"+r.Version)
	if err != nil {
		return nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "config", "crd", r.Channel, "gateway.networking.*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no definitions in %s", r, module.Dir))
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		more, err := decode(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// decode reads the objects in a YAML file.
func decode(file string) (objects []*unstructured.Unstructured, err error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer text.Close() //nolint:errcheck // it was read
	for decoder := yaml.NewYAMLOrJSONDecoder(text, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// safeUpgrades is a policy of the Gateway API itself, which refuses older releases.
const safeUpgrades = "safe-upgrades.gateway.networking.k8s.io"

// create creates the object. The policy of the release before may be enforced for a
// moment after it was deleted.
func create(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return eventually(ctx, func() (bool, error) {
		err := c.Create(ctx, object)
		return err == nil || !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), safeUpgrades), err
	})
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// uninstall deletes the definitions of the Gateway API, with all routes, and its policy.
func uninstall(ctx context.Context, c client.Client) error {
	named := metav1.ObjectMeta{Name: safeUpgrades}
	for _, object := range []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named},
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named},
	} {
		if err := client.IgnoreNotFound(c.Delete(ctx, object)); err != nil {
			return err
		}
	}
	return eventually(ctx, func() (bool, error) {
		var all apiextensionsv1.CustomResourceDefinitionList
		if err := c.List(ctx, &all); err != nil {
			return true, err
		}
		var left error
		for i := range all.Items {
			if !strings.HasPrefix(all.Items[i].Spec.Group, "gateway.networking.") {
				continue
			}
			left = errors.New("definitions are left")
			if err := client.IgnoreNotFound(c.Delete(ctx, &all.Items[i])); err != nil {
				return true, err
			}
		}
		return left == nil, left
	})
}

// causes are the words of a refusal, in a line: of rules that do not compile, what the
// compiler says, without the rule.
func causes(status metav1.Status) string {
	var words []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			_, compiler, failed := strings.Cut(cause.Message, "compilation failed: ")
			if !failed {
				words = append(words, cause.Message)
			}
			for line := range strings.Lines(compiler) {
				if !strings.HasPrefix(line, " |") {
					words = append(words, strings.TrimSpace(line))
				}
			}
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "; ")
}

// eventually waits until the condition is done, and returns its error, or the last one
// where it never is.
func eventually(ctx context.Context, condition func() (done bool, err error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(context.Context) (done bool, _ error) {
		done, last = condition()
		return done, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return last
}
