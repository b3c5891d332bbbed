package report_test

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// TestVerificationText: what differs alike is written once, no title twice, and each port is counted once.
func TestVerificationText(t *testing.T) {
	cart := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	v := &report.Verification{}
	for _, port := range []int32{80, 81} {
		for _, from := range []string{"faces", "shop"} {
			p := v.Port(cart, port, from)
			p.Count("a")
			for _, row := range [][3]string{{"any /b*", "404", "500"}, {"any /a*", "x:80 90 %", "y:80"}, {"any /b*", "404", "z:80"}, {"any /c*", "x:80 90 %", "y:80"}, {"", "404", "any"}} {
				p.Differences = append(p.Differences, &report.VerifiedClass{From: from, Class: row[0], Ours: row[1], Theirs: row[2], Example: traffic.Request{Service: cart, Port: port, From: from}})
			}
		}
	}
	last := v.Port(cart, 82, "shop")
	last.Count("a")
	last.Differences = []*report.VerifiedClass{{Class: "any", Ours: "1", Theirs: "2", Example: traffic.Request{Service: cart, Port: 82, From: "shop"}}}
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		v.Skip(name, "there is nothing")
	}
	v.Skip("m", "it is another")
	v.Finish()
	var text strings.Builder
	if err := v.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	const want = `Service shop/cart ports 80, 81, from namespaces faces, shop
  any /a*
  any /c*
    gammaguard: x:80 90 %
    proxies:    y:80
    example:    gammaguard trace service/cart.shop:80 --from faces
  any /b*
    gammaguard: 404
    proxies:    500
    example:    gammaguard trace service/cart.shop:80 --from faces
    gammaguard: 404
    proxies:    z:80
    example:    gammaguard trace service/cart.shop:80 --from faces
  every request
    gammaguard: 404
    proxies:    any
    example:    gammaguard trace service/cart.shop:80 --from faces

Service shop/cart port 82, from namespace shop
  any
    gammaguard: 1
    proxies:    2
    example:    gammaguard trace service/cart.shop:82 --from shop

note: a, b, c, d, e, f, g, h, i, j, and 2 more: not compared, since there is nothing
note: m: not compared, since it is another
5 classes of requests compared, from 2 namespaces to 3 Service ports: 5 classes differ
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
}
