package rollouts

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// manager is the field manager of Flux.
const manager = "kustomize-controller"

// flux writes in the manner of Flux: it applies the same file again and again on the server's
// side, after a dry run that shows whether anything would change.
type flux struct {
	*writer
	// group is what the file says; nil: left out.
	group *gatewayv1.Group
}

// file is what is in Git.
func (f *flux) file() *unstructured.Unstructured {
	f.t.Helper()
	route := &gatewayv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}, Spec: f.spec(f.group, 10),
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(route)
	if err != nil {
		f.t.Fatal(err)
	}
	delete(fields, "status")
	return &unstructured.Unstructured{Object: fields}
}

func (f *flux) run() {
	f.t.Helper()
	for range 4 {
		before := f.get()
		drift := f.file()
		if !f.apply("dry run", drift, client.DryRunAll) {
			return
		}
		if before != nil {
			was, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
			if err != nil {
				f.t.Fatal(err)
			}
			f.note("drift: %v", !apiequality.Semantic.DeepEqual(was["spec"], drift.Object["spec"]))
		}
		if !f.apply("applied", f.file()) {
			return
		}
		if before != nil {
			f.note("written: %v", f.get().ResourceVersion != before.ResourceVersion)
		}
	}
	f.end()
}

func (f *flux) apply(what string, file *unstructured.Unstructured, options ...client.ApplyOption) bool {
	f.t.Helper()
	options = append(options, client.FieldOwner(manager), client.ForceOwnership)
	return f.wrote(what, f.Apply(f.t.Context(), client.ApplyConfigurationFromUnstructured(file), options...))
}

// diff has kubectl compare the files with what is stored: it must find nothing.
func diff(t *testing.T, files []*flux) {
	t.Helper()
	var text strings.Builder
	for _, f := range files {
		file, err := json.Marshal(f.file())
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(file) + "\n")
	}
	stdout, stderr, err := plane.Kubectl(t.Context(), text.String(), "diff", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", "-")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || stdout != "" {
		t.Errorf("kubectl diff: %v\n%s%s", err, stdout, stderr)
	} else if err != nil {
		t.Fatal(err)
	}
}
