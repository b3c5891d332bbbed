package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// cniDir is where Debian's containernetworking-plugins puts its programs.
const cniDir = "/usr/lib/cni"

// needed are the programs that come from Debian, and their packages.
var needed = []struct{ program, debianPackage string }{
	{"runc", "runc"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{cniDir + "/bridge", "containernetworking-plugins"},
	{cniDir + "/portmap", "containernetworking-plugins"},
}

// Prerequisites says what is missing to run a node here, all of it at once.
func Prerequisites() error {
	if runtime.GOOS != "linux" {
		return errors.New("a node needs Linux")
	}
	if os.Geteuid() != 0 {
		return errors.New("a node needs root: it makes network namespaces, mounts and cgroups")
	}
	var missing []string
	for _, n := range needed {
		if _, err := exec.LookPath(n.program); err != nil && !strings.Contains(strings.Join(missing, " "), n.debianPackage) {
			missing = append(missing, n.debianPackage)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("packages of Debian are missing: apt-get install %s", strings.Join(missing, " "))
	}
	return nil
}
