package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// clients are those who may call the webhooks: the holders of certificates that a CA of
// the file has signed, with one of the names.
type clients struct {
	file string
	// names are common names or DNS names; empty for any.
	names []string
	log   logr.Logger

	mu     sync.Mutex
	cas    *x509.CertPool
	loaded time.Time // the file's modification time, when it was read last
	failed string    // why it could not be read last; empty if it could
}

// configure demands a certificate in each handshake.
func (c *clients) configure(config *tls.Config) {
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.VerifyConnection = c.verify
	config.SessionTicketsDisabled = true // each connection is verified by the CAs as they are then
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		config := base.Clone()
		config.ClientCAs = c.current()
		return config, nil
	}
}

// current returns the CAs, of the file as it is now. While it cannot be read, those of
// before count.
func (c *clients) current() *x509.CertPool {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.file)
	if err == nil && info.ModTime().Equal(c.loaded) {
		return c.cas
	}
	if err == nil {
		c.loaded = info.ModTime() // it is tried again when it changes
		err = c.read()
	}
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	if failed != "" && failed != c.failed { // else each connection would write it
		c.log.Error(err, "Failed to read the client CA again; the last valid one stays in use")
	}
	c.failed = failed
	return c.cas
}

// load reads the file for the first time.
func (c *clients) load() error {
	info, err := os.Stat(c.file)
	if err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	c.loaded = info.ModTime()
	return c.read()
}

func (c *clients) read() error {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	cas := x509.NewCertPool()
	if !cas.AppendCertsFromPEM(text) {
		return fmt.Errorf("client CA: %s has no certificate", c.file)
	}
	c.cas = cas
	return nil
}

// verify checks the name in a certificate that the CA has signed.
func (c *clients) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("no client certificate")
	}
	leaf := state.PeerCertificates[0]
	names := append([]string{leaf.Subject.CommonName}, leaf.DNSNames...)
	if len(c.names) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.names, name) }) {
		return nil
	}
	return fmt.Errorf("the client certificate is for %s, which is not allowed", strings.Join(names, ", "))
}
