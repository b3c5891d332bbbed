// Command kube-apiserver is the real API server, built from its module. It ends
// with the process that started it.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/gammaguard/gammaguard/test/controlplane/internal/orphan"
)

func main() {
	orphan.Exit()
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
