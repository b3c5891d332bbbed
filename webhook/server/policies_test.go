package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
)

// policyReader is a client of an API server that has the set; nil for none.
type policyReader struct {
	client.Reader
	set *grantpolicy.Set
	err error
}

func (r *policyReader) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if r.err != nil {
		return r.err
	}
	if r.set != nil {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			if key.Name == r.set.Policy.Name {
				r.set.Policy.DeepCopyInto(object)
				return nil
			}
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			for _, b := range r.set.Bindings {
				if key.Name == b.Name {
					b.DeepCopyInto(object)
					return nil
				}
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// TestPolicies: the metric follows what the API server has, and each difference makes one
// Event. Policies that were never there are not missed; removed ones are.
func TestPolicies(t *testing.T) {
	other := config.Default()
	other.Mode = mesh.Warn
	same, differs := grantpolicy.New(config.Default().Policy()), grantpolicy.New(other.Policy())
	reader, recorder := &policyReader{}, events.NewFakeRecorder(10)
	p := &policies{want: grantpolicy.New(config.Default().Policy()), reader: reader, recorder: recorder, log: logr.Discard()}
	const metric = "# HELP gammaguard_policy_in_sync 1 if the policies on grants that the API server enforces are those of the configuration of this replica, " +
		"0 if they differ. Absent if none were there since this replica started, or if it cannot read them.\n# TYPE gammaguard_policy_in_sync gauge\ngammaguard_policy_in_sync %d\n"
	for i, step := range []struct {
		set   *grantpolicy.Set
		err   error
		value int // -1: no metric
		event string
	}{
		{nil, nil, -1, ""},
		{nil, errors.New("forbidden"), -1, ""},
		{same, nil, 1, ""},
		{same, nil, 1, ""},
		{differs, nil, 0, "Warning PolicyDiffers not what the configuration of gammaguard asks for; apply what 'gammaguard policy' writes for it: 5 objects are of another configuration"},
		{differs, nil, 0, ""},
		{same, nil, 1, ""},
		{nil, nil, 0, "all of them were removed"},
		{nil, errors.New("forbidden"), -1, ""},
		{same, nil, 1, ""},
	} {
		reader.set, reader.err = step.set, step.err
		p.compare(t.Context())
		want := ""
		if step.value >= 0 {
			want = fmt.Sprintf(metric, step.value)
		}
		if err := testutil.CollectAndCompare(p, strings.NewReader(want)); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		event := ""
		select {
		case event = <-recorder.Events:
		default:
		}
		if (event == "") != (step.event == "") || !strings.Contains(event, step.event) {
			t.Errorf("step %d: Event %q, want %q", i, event, step.event)
		}
	}
}
