package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/test/bed"
)

// effectTimeout bounds how long the API server may take to act on what was
// registered. It looks for new policies once a second.
const effectTimeout = 60 * time.Second

// awaitPolicy sends dry runs that break the policy on the labels of namespaces,
// whoever sends them, until the API server refuses one in the policy's name.
func awaitPolicy(ctx context.Context, cp *bed.ControlPlane, name string) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, stderr, err := cp.Kubectl(ctx, "", "label", "namespace", "default", "gammaguard.dev/grant=probe", "--overwrite", "--dry-run=server")
		return err != nil && strings.Contains(stderr, "'"+name+"'"), nil
	})
}

// awaitWebhook sends dry runs of a mesh route until the API server counts a call
// of the webhook. What the webhook says of the route does not matter.
func awaitWebhook(ctx context.Context, cp *bed.ControlPlane, name string) error {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {namespace: default, name: gammaguard-probe},
		spec: {parentRefs: [{group: "", kind: Service, name: gammaguard-probe}]}}`
	before, err := webhookCalls(ctx, cp, name)
	if err != nil {
		return err
	}
	return poll(ctx, func(ctx context.Context) (bool, error) {
		_, _, _ = cp.Kubectl(ctx, route, "create", "--dry-run=server", "-f", "-")
		now, err := webhookCalls(ctx, cp, name)
		return now > before, err
	})
}

func poll(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, effectTimeout, true, condition)
}

// webhookCalls reads from the API server's metrics how often it called a webhook.
func webhookCalls(ctx context.Context, cp *bed.ControlPlane, name string) (calls uint64, err error) {
	client, err := rest.HTTPClientFor(cp.Config)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(cp.Config.Host, "/")+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the API server's metrics: %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("the API server's metrics: %w", err)
	}
	for _, metric := range families["apiserver_admission_webhook_admission_duration_seconds"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "name" && label.GetValue() == name {
				calls += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return calls, nil
}
