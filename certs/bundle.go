package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Bundle is a serving certificate, its key, and the CA that signed it, in PEM.
type Bundle struct {
	// CA is the CA's certificate: a webhook registration's caBundle.
	CA []byte
	// Cert is the serving certificate and Key its private key.
	Cert, Key []byte
}

const (
	validity = 365 * 24 * time.Hour
	// skew is how much the clock of who checks a certificate may be behind.
	skew = 5 * time.Minute
)

// NewSelfSigned makes a CA and a serving certificate of it for the hosts, which
// are DNS names or IP addresses. Both are valid for a year from now. The CA's key
// is thrown away, so nothing else is ever signed by it.
func NewSelfSigned(hosts ...string) (*Bundle, error) {
	return NewSelfSignedAt(time.Now(), hosts...)
}

// NewSelfSignedAt is NewSelfSigned at another time.
func NewSelfSignedAt(now time.Time, hosts ...string) (*Bundle, error) {
	if len(hosts) == 0 {
		return nil, errors.New("a serving certificate needs at least one host")
	}
	ca, err := newAuthority(now)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	bundle, err := ca.issue(now, hosts)
	if err != nil {
		return nil, fmt.Errorf("make a serving certificate: %w", err)
	}
	return bundle, nil
}

// authority is a CA.
type authority struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

func newAuthority(now time.Time) (*authority, error) {
	cert, err := template(now, "gammaguard CA")
	if err != nil {
		return nil, err
	}
	cert.IsCA = true
	cert.BasicConstraintsValid = true
	cert.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	return &authority{cert: cert, der: der, key: key}, err
}

// issue makes a serving certificate for the hosts.
func (a *authority) issue(now time.Time, hosts []string) (*Bundle, error) {
	cert, err := template(now, "gammaguard-webhook")
	if err != nil {
		return nil, err
	}
	cert.KeyUsage = x509.KeyUsageDigitalSignature
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Bundle{
		CA:   encode("CERTIFICATE", a.der),
		Cert: encode("CERTIFICATE", der),
		Key:  encode("PRIVATE KEY", keyDER),
	}, nil
}

func template(now time.Time, name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(validity),
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
