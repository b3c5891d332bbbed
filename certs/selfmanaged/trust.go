package selfmanaged

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/gammaguard/gammaguard/certs"
)

// overlap is how long a CA is still trusted after another took its place: time for
// every replica to serve a certificate of the other one.
const overlap = 24 * time.Hour

// trustBoth returns the CA bundle for a registration that trusts the CAs of
// current, in PEM, and is to trust next. While next is young, and as long as they
// have not expired, the current ones stay beside it.
func trustBoth(next, current []byte, now time.Time) ([]byte, error) {
	added, err := parse(next)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	bundle := encode(added)
	if now.Sub(added[0].NotBefore) >= overlap {
		return bundle, nil
	}
	trusted, err := parse(current)
	if err != nil {
		return bundle, nil //nolint:nilerr // nothing is trusted that could be kept
	}
	kept := slices.DeleteFunc(trusted, func(ca *x509.Certificate) bool {
		return now.After(ca.NotAfter) || slices.ContainsFunc(added, ca.Equal)
	})
	return append(bundle, encode(kept)...), nil
}

// trusts returns nil if one who trusts the CA bundle takes the certificate for the
// host's.
func trusts(caBundle []byte, leaf *x509.Certificate, host string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(caBundle)
	if err := certs.CheckValidity(leaf, now); err != nil {
		return err
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: host, Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// parse returns the certificates of a PEM bundle, at least one.
func parse(bundle []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for rest := bytes.TrimSpace(bundle); len(rest) > 0 || len(found) == 0; rest = bytes.TrimSpace(rest) {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			return nil, fmt.Errorf("no PEM certificate")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, certificate)
	}
	return found, nil
}

func encode(certificates []*x509.Certificate) []byte {
	var bundle []byte
	for _, certificate := range certificates {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return bundle
}
