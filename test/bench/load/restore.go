package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// entry is an object as etcd holds it.
type entry struct {
	key    string
	object object
}

// batch is how many objects one request to etcd writes; etcd takes 128.
const batch = 120

// restore writes objects to etcd, as one who restores a backup would: the API
// server takes half an hour for 20,000 Services, as it counts all addresses in use
// for each. It reads what it serves from there, and its watches see it.
func (c *cluster) restore(ctx context.Context, entries []entry) error {
	type put struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	puts := make([]map[string]put, len(entries))
	for i, e := range entries {
		puts[i] = map[string]put{"requestPut": {[]byte("/registry/" + e.key), encode(stored(e.object))}}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcd+"/v3/kv/txn", bytes.NewReader(encode(object{"success": puts})))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("write to etcd: %s: %.300s", response.Status, answer)
	}
	return err
}

// stored returns the object with what the API server would have put into its
// metadata.
func stored(o object) object {
	metadata := maps.Clone(o["metadata"].(object)) //nolint:forcetypeassert // every object has it
	uid := uids.Add(1)
	metadata["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", uid)
	metadata["creationTimestamp"], metadata["generation"] = "2026-01-02T03:04:05Z", 1
	o = maps.Clone(o)
	o["metadata"] = metadata
	return o
}

// serviceEntries returns what etcd holds of the Service with the number: itself,
// its address and its EndpointSlice.
func (l layout) serviceEntries(i int) []entry {
	namespace, name := l.at(i), serviceName(i)
	ip := fmt.Sprintf("10.96.%d.%d", 100+i/250, 1+i%250)
	o := service(namespace, name)
	o["spec"] = object{
		"type": "ClusterIP", "clusterIP": ip, "clusterIPs": []string{ip}, "ipFamilies": []string{"IPv4"}, "ipFamilyPolicy": "SingleStack",
		"sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "selector": object{"app": name},
		"ports": []object{{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}},
	}
	address := object{
		"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
		"metadata": object{"name": ip, "labels": object{
			"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
		}},
		"spec": object{"parentRef": object{"group": "", "resource": "services", "namespace": namespace, "name": name}},
	}
	place := namespace + "/" + name
	return []entry{
		{"ipaddresses/" + ip, address},
		{"services/specs/" + place, o},
		{"endpointslices/" + place, endpointSlice(namespace, name)},
	}
}

// routeEntry returns what etcd holds of the seeded route with the number.
func (l layout) routeEntry(i int) entry {
	o := l.seeded(i)
	metadata := o["metadata"].(object) //nolint:forcetypeassert // see route
	return entry{fmt.Sprintf("gateway.networking.k8s.io/httproutes/%s/%s", metadata["namespace"], metadata["name"]), o}
}
