// Package envoy answers what a request meets by a route configuration of Envoy, as Envoy's
// documentation of config.route.v3 describes it: the virtual host of the longest domain, then
// the first route that matches, then what that route does.
//
// It reads the JSON of protobuf messages, with names of fields in lowerCamelCase or in
// snake_case: what Envoy's config_dump has, what istioctl prints, and what a CiliumEnvoyConfig
// holds. It knows what meshes make of routes on Services. What else may stand in a match is an
// error for the requests that hang on it, and for no others.
//
// The package is pure. It bounds the routes and regular expressions of a text; whoever reads a file bounds
// its size.
package envoy
