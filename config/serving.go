package config

import (
	"errors"
	"fmt"
	"strings"
)

// What shows whether gammaguard has served, in rbac/serving.yaml and webhook/validating.yaml.
const (
	// ServingBinding is the ClusterRoleBinding that has gammaguard's ServiceAccount as its
	// subject once gammaguard has served.
	ServingBinding = "gammaguard-serving"
	// ProbeAnnotation makes an update of it a probe of the webhook ServingWebhook.
	ProbeAnnotation = "gammaguard.dev/probe"
	// ServingWebhook refuses each probe.
	ServingWebhook = "serving.gammaguard.dev"
)

// The outcomes of a probe that reached nobody.
var (
	// ErrNotRegistered: the API server has no such webhook.
	ErrNotRegistered = errors.New("the API server has no webhook " + ServingWebhook)
	// ErrNotReached: the API server has the webhook and got no answer.
	ErrNotReached = errors.New("the API server gets no answer from the webhook")
)

// Probed returns nil if the error of a probe is the answer of gammaguard, and otherwise
// what the probe came to: ErrNotRegistered, ErrNotReached with the reason, or the error
// itself.
func Probed(err error) error {
	switch {
	case err == nil:
		return ErrNotRegistered
	case strings.Contains(err.Error(), fmt.Sprintf("admission webhook %q denied the request", ServingWebhook)):
		return nil
	case strings.Contains(err.Error(), fmt.Sprintf("failed calling webhook %q", ServingWebhook)):
		return fmt.Errorf("%w: %w", ErrNotReached, err)
	}
	return err
}
