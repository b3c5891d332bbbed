package rollout

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/gammaguard/gammaguard/internal/manifest"
)

// HoldsRoute reports whether the object is a route, or a Canary for which Flagger writes one.
func HoldsRoute(o *manifest.Object) bool {
	if !IsCanary(o.Key) {
		return o.IsRoute()
	}
	var c canary
	return json.Unmarshal(o.JSON, &c) != nil || c.writesRoute() // what cannot be read may be one
}

// writesRoute reports whether Flagger writes an HTTPRoute for the Canary.
func (c *canary) writesRoute() bool {
	p := c.Spec.Provider
	return (p == "" || p == "gatewayapi" || strings.HasPrefix(p, "gatewayapi:")) && len(c.Spec.Service.GatewayRefs) > 0
}

// filter is the end of the path of a filter as a whole.
var filter = regexp.MustCompile(`\.filters\[\d+\]$`)

// CanaryField returns the field of the Canary that a field of the route that Flagger writes comes from.
func CanaryField(route *manifest.Object, field string) string {
	if filter.MatchString(field) {
		kind, _, _ := route.Field(field + ".type")
		field = fmt.Sprintf("%s.%s", field, kind)
	}
	for _, of := range []struct{ route, canary string }{{"spec.parentRefs", "spec.service.gatewayRefs"}, {"spec.hostnames", "spec.service.hosts"}} {
		if rest, is := strings.CutPrefix(field, of.route); is {
			return of.canary + rest
		}
	}
	if !strings.HasPrefix(field, "spec.rules") {
		return ""
	}
	field = strings.ToLower(field)
	for _, of := range []struct{ route, canary string }{
		{".matches", "match"},
		{".urlrewrite", "rewrite"},
		{".requestmirror", "mirror"},
		{".filters", "headers"},
		{".timeouts.backendrequest", "backendTimeout"},
		{".timeouts", "timeout"},
		{".port", "port"},
	} {
		if strings.Contains(field, of.route) {
			return "spec.service." + of.canary
		}
	}
	return "spec.service"
}
