// Package grantpolicy makes of the engine's policy the ValidatingAdmissionPolicy by which the
// API server itself refuses routes without a grant (the rule grant-missing), with its
// bindings. It holds while no gammaguard runs.
//
// The CEL is made of the same Go values as the engine reads: grants, roles, kinds, labels,
// groups, and the domains of metadata that shapes traffic. The match conditions of the webhooks
// come from here too. What needs an object besides the route and its namespace, such as a
// refusal by the Service's side, stays with the webhook.
package grantpolicy
