// Package rollout knows what the controllers of progressive delivery write into routes: Flagger for its Canary, and
// Argo Rollouts, by its plugin for the Gateway API, for a Rollout. It returns that at rest, while no new version is
// being rolled out: all requests go to the old one.
package rollout
