// Package cilium has Cilium's own code translate worlds: its operator's translation of routes on
// Services to a CiliumEnvoyConfig.
package cilium

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/cilium/operator/pkg/model"
	"github.com/cilium/cilium/operator/pkg/model/ingestion"
	"github.com/cilium/cilium/operator/pkg/model/translation"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/test/worlds"
	"github.com/gammaguard/gammaguard/traffic"
)

// Translate returns what Envoy on the nodes answers in a world, by the CiliumEnvoyConfig that the
// operator makes. The operator takes routes from its cache in no order; here the oldest come first.
func Translate(t *testing.T, w *worlds.World) func(*traffic.Request) (*proxies.Answer, error) {
	t.Helper()
	var in ingestion.GammaInput
	for _, route := range w.HTTP {
		in.HTTPRoutes = append(in.HTTPRoutes, *route)
	}
	for _, route := range w.GRPC {
		in.GRPCRoutes = append(in.GRPCRoutes, *route)
	}
	for _, service := range w.Services {
		in.Services = append(in.Services, *service)
	}
	slices.SortFunc(in.HTTPRoutes, worlds.CompareAge)
	slices.SortFunc(in.GRPCRoutes, worlds.CompareAge)
	listeners := ingestion.GammaHTTPRoutes(slog.New(slog.NewTextHandler(io.Discard, nil)), in)
	if len(listeners) == 0 { // the operator makes no CiliumEnvoyConfig
		return func(r *traffic.Request) (*proxies.Answer, error) { return plain(r), nil }
	}
	made, err := translation.NewCECTranslator(translation.Config{}).Translate(worlds.Namespace, worlds.Service, &model.Model{HTTP: listeners})
	if err != nil {
		t.Fatal(err)
	}
	var config *envoy.Config
	for _, resource := range made.Spec.Resources {
		text, err := json.Marshal(&resource)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := envoy.Read(text); err == nil {
			config = read[0]
		} else if strings.HasSuffix(resource.GetTypeUrl(), ".RouteConfiguration") {
			t.Fatal(err)
		}
	}
	ports := made.Spec.Services[0].Ports
	return func(r *traffic.Request) (*proxies.Answer, error) {
		if !slices.Contains(ports, uint16(r.Port)) { //nolint:gosec // a port
			return plain(r), nil
		}
		request := proxies.EnvoyRequest(r, r.Service.Name+"."+r.Service.Namespace)
		request.Headers["x-forwarded-proto"] = "http" // which Envoy adds
		answer, err := config.Answer(request)
		if err != nil {
			return nil, err
		}
		return proxies.FromEnvoy(answer, request, r.Port, cluster), nil
	}
}

// plain returns what becomes of a request to a port that Envoy does not get.
func plain(r *traffic.Request) *proxies.Answer {
	return &proxies.Answer{Backends: []string{fmt.Sprintf("%s:%d", r.Service, r.Port)}}
}

// cluster reads the name of a cluster: shop:cart:80.
func cluster(name string) string {
	parts := strings.Split(name, ":")
	if len(parts) != 3 {
		return "cluster " + name
	}
	return fmt.Sprintf("Service %s/%s:%s", parts[0], parts[1], parts[2])
}
