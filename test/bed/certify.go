package bed

import (
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// certify makes the API server's certificate for further hosts, and the key that
// signs ServiceAccount tokens. envtest makes both itself, for loopback only, if
// they are not there.
func (cp *ControlPlane) certify(hosts []string) error {
	serving, err := selfsigned.New(append([]string{"localhost", "127.0.0.1"}, hosts...)...)
	if err != nil {
		return err
	}
	signer, err := selfsigned.New("service-accounts")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"apiserver.crt": serving.Cert, "apiserver.key": serving.Key,
		"sa-signer.crt": signer.Cert, "sa-signer.key": signer.Key,
	} {
		if err := os.WriteFile(filepath.Join(cp.CertDir, name), data, 0o600); err != nil {
			return err
		}
	}
	cp.env.ControlPlane.APIServer.CA = serving.CA
	return nil
}
