// Package bed is the test bed: a real Kubernetes control plane (kube-apiserver,
// etcd and kubectl) built from Go modules, with the Gateway API's
// CustomResourceDefinitions, on loopback.
//
// Build builds the binaries once, into a folder that git ignores. Start starts a
// control plane in four to eight seconds. All tests of a package share one, which
// their TestMain starts:
//
//	var plane *bed.ControlPlane
//
//	func TestMain(m *testing.M) { os.Exit(bed.Run(m, bed.Options{}, &plane)) }
//
// and keep to a namespace each. A package with such a TestMain should hold
// nothing but tests that need an API server: go test -run and -fuzz start it too.
//
// Nothing is left behind: Stop removes everything; where it is not called, as
// when a test binary is killed or runs into its timeout, the servers notice
// within a second that the process that started them is gone, and the next Start
// removes their files.
package bed
