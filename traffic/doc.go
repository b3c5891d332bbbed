// Package traffic answers what a request meets: which rule of which route it
// matches, and where it goes. Trace answers it for one request; Diff compares
// two versions of the routes and reports the requests whose answer changes.
//
// The package is pure. It takes routes as package mesh decodes them, and
// reads everything else through Reader.
//
// It follows GEP-1294 (xRoutes Mesh Binding) for who is affected by a route,
// and the Gateway API's HTTPRouteRule and GRPCRouteRule for the precedence of
// matches.
package traffic
