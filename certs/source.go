package certs

import "sigs.k8s.io/controller-runtime/pkg/manager"

// Source is who fills the certificate directory.
type Source interface {
	// SetUp hands to the manager, which has not been started, what has to run on
	// this replica and on the leader.
	SetUp(mgr manager.Manager) error
	// Waiting says in one line why there is no valid certificate in the folder, as
	// far as the source knows; empty if it knows nothing. It is only asked while
	// there is none, may be asked often, and answers within seconds.
	Waiting() string
}
