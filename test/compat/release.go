// Package compat tries gammaguard with releases of the Gateway API, on API servers of
// several releases of Kubernetes. make compat tries them all and writes
// docs/compatibility.md; test/install tries one.
package compat

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
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

// safeUpgrades is a policy of the Gateway API itself, which refuses older releases.
const safeUpgrades = "safe-upgrades.gateway.networking.k8s.io"

// Install installs the release in place of what the cluster has of the Gateway API. An
// API server that is too old refuses some definitions: what it says is in refused, by
// the name of the definition, and the others are installed.
func (r Release) Install(t testing.TB, cp *bed.ControlPlane) (refused map[string]string) {
	t.Helper()
	c, err := cp.Client()
	if err != nil {
		t.Fatal(err)
	}
	uninstall(t, cp)
	refused = map[string]string{}
	for _, object := range r.objects(t) {
		background.Eventually(t, func() string {
			err := c.Create(t.Context(), object)
			invalid := (*apierrors.StatusError)(nil)
			switch {
			case err == nil:
			case apierrors.IsInvalid(err) && strings.Contains(err.Error(), safeUpgrades):
				return err.Error() // that of the release before may be enforced for a moment after it was deleted
			case apierrors.IsInvalid(err) && errors.As(err, &invalid):
				refused[object.GetName()] = causes(invalid.ErrStatus)
			default:
				t.Fatalf("install %s: %v", r, err)
			}
			return ""
		})
	}
	kubectl(t, cp, "", "wait", "crd", "--all", "--for=condition=Established", "--timeout=5m")
	return refused
}

// uninstall deletes the definitions of the Gateway API, with all routes, and its policy.
func uninstall(t testing.TB, cp *bed.ControlPlane) {
	t.Helper()
	objects := []string{"validatingadmissionpolicybinding/" + safeUpgrades, "validatingadmissionpolicy/" + safeUpgrades}
	for definition := range strings.FieldsSeq(kubectl(t, cp, "", "get", "crd", "-o", "name")) {
		if strings.Contains(definition, ".gateway.networking.") {
			objects = append(objects, definition)
		}
	}
	background.Eventually(t, func() string {
		// Once it could not list what is there of a kind, which has happened on a busy machine, the
		// API server tries again after minutes, or when the definition is deleted once more.
		_, stderr, err := cp.Kubectl(t.Context(), "", append([]string{"delete", "--ignore-not-found", "--timeout=5s"}, objects...)...)
		if err != nil {
			return stderr
		}
		return ""
	})
}

// kubectl runs kubectl as the administrator, and returns what it prints.
func kubectl(t testing.TB, cp *bed.ControlPlane, stdin string, args ...string) string {
	t.Helper()
	stdout, stderr, err := cp.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return stdout
}

const gatewayModule = "sigs.k8s.io/gateway-api"

// objects reads the release's definitions, and its policy if it has one, from its module.
func (r Release) objects(t testing.TB) (objects []client.Object) {
	t.Helper()
	out, err := bed.Go(t.Context(), ".", nil, "mod", "download", "-json", gatewayModule+"@"+r.Version)
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "config", "crd", r.Channel, "gateway.networking.*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no definitions in %s: %v", r, module.Dir, err)
	}
	infos, err := resource.NewLocalBuilder().Unstructured().Path(false, files...).Flatten().Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		objects = append(objects, info.Object.(client.Object))
	}
	return objects
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
