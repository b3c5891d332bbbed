package certs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

func newBundle(t *testing.T, now time.Time) *certs.Bundle {
	t.Helper()
	bundle, err := selfsigned.NewAt(now, "localhost", "127.0.0.1", "gammaguard-webhook.gammaguard-system.svc")
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func TestWriteDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	now := time.Now()
	for range 2 { // the second time over the first
		bundle := newBundle(t, now)
		if err := bundle.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		type file struct {
			Data string
			Mode fs.FileMode
		}
		got := map[string]file{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got[entry.Name()] = file{string(data), info.Mode().Perm()}
		}
		want := map[string]file{
			"ca.crt":  {string(bundle.CA), 0o644},
			"tls.crt": {string(bundle.Cert), 0o644},
			"tls.key": {string(bundle.Key), 0o600},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("files (-want +got):\n%s", diff)
		}
	}
}

func TestWriteDirReportsWhatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newBundle(t, time.Now()).WriteDir(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got error %v, want one that names %s", err, file)
	}
}

func TestCheck(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	bundle, other := newBundle(t, now), newBundle(t, now)
	for _, test := range []struct {
		name   string
		bundle certs.Bundle
		remove string
		now    time.Time
		want   string // "" for none; DIR stands for the folder
	}{
		{name: "valid", bundle: *bundle, now: now},
		{name: "valid to its last second", bundle: *bundle, now: now.AddDate(1, 0, 0)},
		{name: "no certificate", bundle: *bundle, remove: certs.CertFile, now: now, want: "certificate directory DIR has no tls.crt"},
		{name: "no key", bundle: *bundle, remove: certs.KeyFile, now: now, want: "certificate directory DIR has no tls.key"},
		{
			name: "empty certificate", bundle: certs.Bundle{Key: bundle.Key}, now: now,
			want: "certificate DIR/tls.crt with key tls.key: tls: failed to find any PEM data in certificate input",
		},
		{
			name: "malformed key", bundle: certs.Bundle{Cert: bundle.Cert, Key: []byte("key")}, now: now,
			want: "certificate DIR/tls.crt with key tls.key: tls: failed to find any PEM data in key input",
		},
		{
			name: "another one's key", bundle: certs.Bundle{Cert: bundle.Cert, Key: other.Key}, now: now,
			want: "certificate DIR/tls.crt with key tls.key: tls: private key does not match public key",
		},
		{
			name: "too early", bundle: *bundle, now: now.Add(-time.Hour),
			want: "certificate DIR/tls.crt is not valid before 2026-03-04T05:01:07Z",
		},
		{
			name: "expired", bundle: *bundle, now: now.AddDate(1, 0, 1),
			want: "certificate DIR/tls.crt expired at 2027-03-04T05:06:07Z",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.bundle.WriteDir(dir); err != nil {
				t.Fatal(err)
			}
			if test.remove != "" {
				if err := os.Remove(filepath.Join(dir, test.remove)); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if err := certs.Check(dir, test.now); err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, certs.CertFile), 0o700); err != nil {
		t.Fatal(err)
	}
	err := certs.Check(dir, time.Now())
	if err == nil || !strings.Contains(err.Error(), certs.CertFile) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names %s", err, certs.CertFile)
	}
}
