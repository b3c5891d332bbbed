// Command etcd is the real etcd server, built from its module. It ends with the
// process that started it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/gammaguard/gammaguard/test/controlplane/internal/orphan"
)

func main() {
	orphan.Exit()
	etcdmain.Main(os.Args)
}
