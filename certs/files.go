package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The names of the files in a certificate directory, as in a Secret of type
// kubernetes.io/tls.
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
	CAFile   = "ca.crt"
)

// Bundle is a serving certificate, its key, and the CA that signed it, in PEM.
type Bundle struct {
	// CA is the CA's certificate: the caBundle of a webhook configuration.
	CA []byte
	// Cert is the serving certificate and Key its private key.
	Cert, Key []byte
}

// WriteDir writes the bundle's files into the folder, which it creates if needed.
// Only the owner can read the key. Each file is replaced atomically, the key last; a
// reader may find a certificate and a key that do not belong together in between,
// and should keep what it read before.
func (b *Bundle) WriteDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	for _, file := range []struct {
		name string
		data []byte
		mode fs.FileMode
	}{
		{CAFile, b.CA, 0o644},
		{CertFile, b.Cert, 0o644},
		{KeyFile, b.Key, 0o600},
	} {
		if err := replace(filepath.Join(dir, file.name), file.data, file.mode); err != nil {
			return fmt.Errorf("write the certificate: %w", err)
		}
	}
	return nil
}

// replace gives the file new content in one step.
func replace(path string, data []byte, mode fs.FileMode) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// Check reports in one line why the folder's tls.crt and tls.key cannot be served at
// the given time: one is missing, unreadable or malformed, they do not belong
// together, or the certificate is not valid yet or no longer. Nil if they can.
func Check(dir string, now time.Time) error {
	cert, err := read(dir, CertFile)
	if err != nil {
		return err
	}
	key, err := read(dir, KeyFile)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", filepath.Join(dir, CertFile), KeyFile, err)
	}
	if err := CheckValidity(pair.Leaf, now); err != nil {
		return fmt.Errorf("certificate %s %w", filepath.Join(dir, CertFile), err)
	}
	return nil
}

func read(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("certificate directory %s has no %s", dir, name)
	case err != nil:
		return nil, fmt.Errorf("certificate directory: %w", err)
	}
	return data, nil
}

// CheckValidity reports how the certificate is not valid at the given time.
func CheckValidity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// CheckHost reports that the certificate is not valid for the host, and for which
// it is.
func CheckHost(leaf *x509.Certificate, host string) error {
	if leaf.VerifyHostname(host) == nil {
		return nil
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = append(names, "no host")
	}
	return fmt.Errorf("is not valid for %s, but for %s", host, strings.Join(names, ", "))
}
