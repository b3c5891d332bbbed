// Package istio has Istio's own code translate worlds: its control plane over objects in memory.
package istio

import (
	"fmt"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/schema/gatewayapi"
	"istio.io/istio/pkg/log"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/test/worlds"
	"github.com/gammaguard/gammaguard/traffic"
)

// Quiet has the control plane log nothing, and read every kind of route: the definitions
// that its client has in memory lack the version by which it would leave kinds out.
func Quiet() {
	clear(gatewayapi.MinimumCRDVersions)
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel)
	}
}

// Translate returns what sidecars answer in a world, by the route configurations that the
// control plane makes for them.
func Translate(t *testing.T, w *worlds.World) func(*traffic.Request) (*proxies.Answer, error) {
	t.Helper()
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{KubernetesObjectString: worlds.YAML(w.Objects()...)})
	configs := map[string]*envoy.Config{}
	for _, namespace := range []string{worlds.Namespace, worlds.Clients} {
		proxy := server.SetupProxy(&model.Proxy{ConfigNamespace: namespace, Metadata: &model.NodeMetadata{Namespace: namespace}})
		for _, routes := range server.Routes(proxy) {
			text, err := protojson.Marshal(routes)
			if err != nil {
				t.Fatal(err)
			}
			read, err := envoy.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			configs[namespace+":"+routes.GetName()] = read[0]
		}
	}
	// A cluster that does not exist is answered with the status 500, which the routes say by
	// clusterNotFoundResponseCode.
	clusters := func(cluster string) string {
		backend := proxies.IstioCluster(cluster)
		if !w.Has(backend) {
			return "500"
		}
		return backend
	}
	return func(r *traffic.Request) (*proxies.Answer, error) {
		config := configs[r.From+":"+strconv.Itoa(int(r.Port))]
		if config == nil {
			return nil, fmt.Errorf("clients in %s have no route configuration for port %d", r.From, r.Port)
		}
		request := proxies.EnvoyRequest(r, r.Service.Name+"."+r.Service.Namespace+".svc.cluster.local")
		answer, err := config.Answer(request)
		if err != nil {
			return nil, err
		}
		return proxies.FromEnvoy(answer, request, r.Port, clusters), nil
	}
}
