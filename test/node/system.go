package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// mountPoints are folders of the system that kubelet and the network plugins
// write to, whatever their settings. The cluster has its own in their place.
var mountPoints = []string{"/var/lib/kubelet", "/var/lib/cni"}

// prepareSystem gives the cluster its own /proc, /run and the like, in the mount
// namespace that launch made for it, and a folder for temporary files that goes
// with the cluster's.
func prepareSystem(dir string) error {
	if os.Getpid() != 1 {
		return errors.New("this command is for the cluster's own use: cluster up starts it")
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, point := range append([]string{"/run", "/var/log"}, mountPoints...) {
		if err := os.MkdirAll(point, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", point, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("mount %s: %w", point, err)
		}
	}
	temporary := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	if err := hideResolver(filepath.Join(temporary, "resolv.conf")); err != nil {
		return err
	}
	return os.Setenv("TMPDIR", temporary)
}

// hideResolver puts an empty file in place of the system's resolv.conf. Nothing can
// be reached by name, and who tries, for want of an image, is to learn so at once.
func hideResolver(empty string) error {
	const system = "/etc/resolv.conf"
	if _, err := os.Stat(system); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		return err
	}
	if err := syscall.Mount(empty, system, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("hide %s: %w", system, err)
	}
	return nil
}
