package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/gammaguard/gammaguard/certs"
)

// certificate is the serving certificate: the one in the files, once these are
// there, and whenever they change.
type certificate struct {
	dir     string
	host    string       // empty for any
	source  certs.Source // nil if unknown
	log     logr.Logger
	watcher atomic.Pointer[certwatcher.CertWatcher]
}

// NeedLeaderElection returns false: every replica serves.
func (c *certificate) NeedLeaderElection() bool { return false }

// Start reads the files until the context ends. The last one is served until a valid
// one replaces it.
func (c *certificate) Start(ctx context.Context) error {
	logged := ""
	for ctx.Err() == nil {
		err := c.load()
		if err == nil {
			err = c.watcher.Load().Start(ctx)
		}
		if err != nil && err.Error() != logged {
			logged = err.Error()
			c.log.V(1).Info("Waiting for a serving certificate", "reason", logged) // readiness reports it
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil
}

func (c *certificate) load() error {
	if err := certs.Check(c.dir, time.Now()); err != nil {
		return err
	}
	watcher, err := certwatcher.New(filepath.Join(c.dir, certs.CertFile), filepath.Join(c.dir, certs.KeyFile))
	if err != nil {
		return err
	}
	c.watcher.Store(watcher)
	return nil
}

// get returns the certificate to serve; see tls.Config.GetCertificate.
func (c *certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if watcher := c.watcher.Load(); watcher != nil {
		return watcher.GetCertificate(hello)
	}
	return nil, errors.New("no serving certificate yet")
}

// check returns why the serving certificate is not valid now, and the reason of its
// source, if any.
func (c *certificate) check() error {
	err := c.valid()
	if err == nil || c.source == nil {
		return err
	}
	if why := c.source.Waiting(); why != "" {
		return fmt.Errorf("%w; %s", err, why)
	}
	return err
}

func (c *certificate) valid() error {
	leaf := c.leaf()
	if leaf == nil {
		if err := certs.Check(c.dir, time.Now()); err != nil {
			return err
		}
		return fmt.Errorf("certificate directory %s: not read yet", c.dir)
	}
	err := certs.CheckValidity(leaf, time.Now())
	if err == nil && c.host != "" {
		err = certs.CheckHost(leaf, c.host)
	}
	if err != nil {
		return fmt.Errorf("certificate %s %w", filepath.Join(c.dir, certs.CertFile), err)
	}
	return nil
}

// leaf returns the certificate that is served, nil while there is none.
func (c *certificate) leaf() *x509.Certificate {
	served, err := c.get(nil)
	if err != nil {
		return nil
	}
	if served.Leaf != nil {
		return served.Leaf
	}
	leaf, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		return nil
	}
	return leaf
}
