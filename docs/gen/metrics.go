package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/webhook/server"
)

const metricsHead = `# Metrics

<!-- Written by docs/gen from what gammaguard-webhook registers: run make docs to change it. -->

Each replica serves these metrics at ` + "`/metrics`" + ` on port 8080. Alerts and a dashboard are in the component ` + "`monitoring`" + `, and
[the runbook](runbook.md) describes the alerts. In addition, there are the metrics of the Go runtime, of the process, and of
controller-runtime.

| Metric | Type | Labels | Description |
|---|---|---|---|
`

// inventory is a Registerer that keeps what is registered.
type inventory struct{ collectors []prometheus.Collector }

func (i *inventory) Register(c prometheus.Collector) error {
	i.collectors = append(i.collectors, c)
	return nil
}

func (i *inventory) MustRegister(all ...prometheus.Collector) {
	i.collectors = append(i.collectors, all...)
}
func (i *inventory) Unregister(prometheus.Collector) bool { return false }

// description is how a Desc prints itself: it has no other way to be read.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// writeMetrics writes the page of the metrics that a server registers.
func writeMetrics(path string) error {
	ctrllog.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "gammaguard-docs-")
	if err != nil {
		return err
	}
	all := &inventory{}
	_, err = server.New(server.Options{
		Config: &rest.Config{Host: "127.0.0.1:1"}, CertDir: folder, WebhookHost: "127.0.0.1", ServingBinding: config.ServingBinding,
		Registerer: all, Log: logr.Discard(),
	})
	if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	var lines []string
	for _, collector := range all.collectors {
		descs := make(chan *prometheus.Desc, 1)
		collector.Describe(descs)
		line, err := metricLine(collector, (<-descs).String())
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return os.WriteFile(path, []byte(metricsHead+strings.Join(lines, "")), 0o644)
}

func metricLine(collector prometheus.Collector, desc string) (string, error) {
	parts := description.FindStringSubmatch(desc)
	if parts == nil {
		return "", fmt.Errorf("metrics: cannot read %s", desc)
	}
	help, err := strconv.Unquote(parts[2])
	if err != nil {
		return "", fmt.Errorf("metrics: %s: %w", desc, err)
	}
	var labels []string
	for _, list := range parts[3:] {
		for label := range strings.SplitSeq(list, ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				labels = append(labels, "`"+name+"`")
			}
		}
	}
	return fmt.Sprintf("| %#q | %s | %s | %s |\n", parts[1], metricType(collector), strings.Join(labels, ", "), cell(help)), nil
}

func metricType(collector prometheus.Collector) string {
	switch collector.(type) {
	case *prometheus.HistogramVec:
		return "histogram"
	case prometheus.Gauge: // it can do what a Counter can
	case *prometheus.CounterVec, prometheus.Counter:
		return "counter"
	}
	return "gauge"
}
