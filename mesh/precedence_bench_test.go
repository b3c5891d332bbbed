package mesh

import (
	"fmt"
	"runtime"
	"testing"
)

// crowds are the routes of a Service with many ports that cost most to decide about.
var crowds = map[string]func(i int) *AttachedRoute{
	"all ports": func(i int) *AttachedRoute { return onService(HTTPRoute, "shop", fmt.Sprint("r", i), int64(i), 0) },
	"the youngest first": func(i int) *AttachedRoute {
		return onService(HTTPRoute, "shop", fmt.Sprint("r", i), int64(-i), 0)
	},
	"kinds by turns": func(i int) *AttachedRoute {
		return onService([]RouteKind{TCPRoute, HTTPRoute, GRPCRoute}[i%3], "shop", fmt.Sprint("r", i), int64(i), 0)
	},
	"a namespace each": func(i int) *AttachedRoute {
		return onService(HTTPRoute, fmt.Sprint("n", i), "r", int64(i), 0)
	},
	"each port by itself": func(i int) *AttachedRoute {
		ports := make([]int32, 32)
		for j := range ports {
			ports[j] = int32(1 + (i+j)%100)
		}
		return onService(HTTPRoute, "shop", fmt.Sprint("r", i), int64(i), ports...)
	},
}

func crowd(routes int, route func(int) *AttachedRoute) (*Service, []*AttachedRoute) {
	service := &Service{Key: ServiceKey{ServiceKind, "shop", "cart"}}
	for i := range 100 {
		service.Ports = append(service.Ports, Port{Name: fmt.Sprint("p", i), Number: int32(1 + i), Protocol: TCP})
	}
	all := make([]*AttachedRoute, routes)
	for i := range all {
		all[i] = route(i)
	}
	return service, all
}

// BenchmarkPrecedence decides about so many routes on one Service with 100 ports.
func BenchmarkPrecedence(b *testing.B) {
	for name, route := range crowds {
		for _, routes := range []int{100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/routes=%d", name, routes), func(b *testing.B) {
				service, all := crowd(routes, route)
				b.ReportAllocs()
				for b.Loop() {
					bySpecification(service, all)
				}
			})
		}
	}
}

// TestPrecedenceIsLinear: ten times the routes cost about ten times the memory, and time
// is spent on that.
func TestPrecedenceIsLinear(t *testing.T) {
	allocated := func(routes int, route func(int) *AttachedRoute) uint64 {
		service, all := crowd(routes, route)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		bySpecification(service, all)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for name, route := range crowds {
		few, many := allocated(1_000, route), allocated(10_000, route)
		t.Logf("%s: %d KiB for 1,000 routes, %d KiB for 10,000", name, few>>10, many>>10)
		if many > 20*few {
			t.Errorf("%s: %d bytes for 1,000 routes, %d for 10,000", name, few, many)
		}
	}
}
