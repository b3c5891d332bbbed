package selfmanaged

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answering is a client that answers each update with an error.
type answering struct {
	client.WithWatch
	err error
}

func (a answering) Update(context.Context, client.Object, ...client.UpdateOption) error { return a.err }

// TestUpdateSecret: a Secret that another write has filled is left to it, and any other
// error is returned.
func TestUpdateSecret(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "cert", errors.New("modified"))
	forbidden := errors.New("forbidden")
	for answer, want := range map[error]error{nil: nil, conflict: nil, forbidden: forbidden} {
		if err := update(t.Context(), answering{err: answer}, &corev1.Secret{}); !errors.Is(err, want) {
			t.Errorf("update() = %v, want %v after %v", err, want, answer)
		}
	}
}
