package validate

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// choice is a world that answers each read as another world does.
type choice func(mesh.Read) mesh.Reader

// Do implements mesh.Reader.
func (c choice) Do(read mesh.Read) mesh.Answer { return c(read).Do(read) }

// confirming is a cache with the present behind it.
type confirming struct {
	choice
	made map[mesh.Read]bool
}

func newConfirming(cache, now mesh.Reader) *confirming {
	c := &confirming{made: map[mesh.Read]bool{}}
	c.choice = func(read mesh.Read) mesh.Reader {
		if c.made[read] {
			return now
		}
		return cache
	}
	return c
}

func (c *confirming) Read(reads []mesh.Read) (fresh int, err error) {
	for _, read := range reads {
		if !c.made[read] {
			c.made[read] = true
			fresh++
		}
	}
	return fresh, nil
}

// fine is a world in which nothing is wrong with anything. Its routes are those
// given.
type fine struct {
	labels map[string]string
	routes []*mesh.AttachedRoute
}

// Do implements mesh.Reader.
func (f fine) Do(read mesh.Read) mesh.Answer {
	switch read.Kind {
	case mesh.ReadNamespace:
		return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: f.labels}}
	case mesh.ReadService:
		service := &mesh.Service{Key: read.Service, Type: mesh.ClusterIP}
		service.ConsumerRoutes = "allow"
		for _, number := range []int32{1, 53, 80, 443, 514, 8080} {
			for _, protocol := range []mesh.Protocol{mesh.TCP, mesh.UDP} {
				service.Ports = append(service.Ports, mesh.Port{Number: number, Protocol: protocol})
			}
		}
		return mesh.Answer{Service: service}
	case mesh.ReadEndpoints:
		return mesh.Answer{HasEndpoints: true}
	case mesh.ReadReferenceGrants:
		var grant mesh.ReferenceGrant
		for _, kind := range mesh.RouteKinds() {
			grant.From = append(grant.From, mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: string(kind), Namespace: "shop"})
		}
		grant.To = []mesh.ReferenceGrantTo{{Kind: mesh.ServiceKind}}
		return mesh.Answer{ReferenceGrants: []mesh.ReferenceGrant{grant}}
	case mesh.ReadRoutes:
		return mesh.Answer{AttachedRoutes: f.routes}
	}
	return mesh.Answer{Err: mesh.ErrUnknown}
}

// A cache that lags in any one object never denies, whichever rule is set to deny:
// where the rule has nothing to deny by now, the request is admitted. Each kind of
// object that a rule's denials are read from is one that can lag.
func TestLaggingCacheNeverDenies(t *testing.T) {
	granted := map[string]string{mesh.GrantLabel: "all", mesh.ConsumerRoutesLabel: "allow"}
	presents := []mesh.Reader{
		fine{labels: granted},
		fine{labels: map[string]string{mesh.ModeLabel: "audit"}},
		newWorld(t), // nothing is there
	}
	lags := map[string]map[mesh.ReadKind]bool{}
	for _, c := range ruleCases() {
		if len(c.want) == 0 {
			continue
		}
		policy := only(map[string]Action{c.rule: Deny})
		if c.policy != nil {
			c.policy.Actions, policy = policy.Actions, c.policy
		}
		engine, cache := newEngine(t, policy), newWorld(t, cluster, c.routes)
		req := &Request{Route: newRoute(t, c.kind, c.namespace, c.spec)}
		verdict := judge(t, policy, cache, req)
		if !verdict.Denied() {
			t.Fatalf("%s, %s: not denied", c.rule, c.name)
		}
		older := *req.Route.Attached(nil)
		older.Name, older.Created, older.CatchAll = "older", 1, true
		if lags[c.rule] == nil {
			lags[c.rule] = map[mesh.ReadKind]bool{}
		}
		for _, read := range verdict.due(nil) {
			lags[c.rule][read.Kind] = lags[c.rule][read.Kind] || false
			for _, present := range append(presents, fine{routes: []*mesh.AttachedRoute{&older}}) {
				now := choice(func(asked mesh.Read) mesh.Reader {
					if asked == read {
						return present
					}
					return cache
				})
				right := with(judge(t, policy, now, req), Deny)
				if len(right) == len(with(verdict, Deny)) {
					continue
				}
				lags[c.rule][read.Kind] = true
				verdict, err := engine.JudgeConfirmed(req, newConfirming(cache, now))
				if denied := with(verdict, Deny); err != nil || len(denied) != len(right) {
					t.Errorf("%s, %s: a cache that lags in %+v denies %+v, want %+v; %v", c.rule, c.name, read, denied, right, err)
				}
			}
		}
	}
	for rule, kinds := range lags {
		for kind, can := range kinds {
			if !can {
				t.Errorf("%s: no present of its %s makes a difference", rule, readNames[kind])
			}
		}
	}
	if len(lags) != len(Catalogue()) {
		t.Errorf("%d rules were tried, want %d", len(lags), len(Catalogue()))
	}
}
