package certs

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
)

// expiry is the metric of when a certificate expires.
type expiry struct {
	desc *prometheus.Desc
	leaf func() *x509.Certificate
}

// NewExpiry returns the metric gammaguard_certificate_expiry_timestamp_seconds:
// when the certificate that is served expires, in seconds since 1970. While leaf
// returns nil, there is no sample.
func NewExpiry(leaf func() *x509.Certificate) prometheus.Collector {
	return &expiry{leaf: leaf, desc: prometheus.NewDesc(
		"gammaguard_certificate_expiry_timestamp_seconds",
		"Time when the serving certificate expires, in seconds since 1970.", nil, nil,
	)}
}

// Describe implements prometheus.Collector.
func (e *expiry) Describe(descs chan<- *prometheus.Desc) { descs <- e.desc }

// Collect implements prometheus.Collector.
func (e *expiry) Collect(metrics chan<- prometheus.Metric) {
	if leaf := e.leaf(); leaf != nil {
		metrics <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(leaf.NotAfter.Unix()))
	}
}
