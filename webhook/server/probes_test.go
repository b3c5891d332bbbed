package server

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// slow is a metric that is collected when the channel is closed.
type slow struct {
	prometheus.Gauge
	collecting sync.WaitGroup
	release    chan struct{}
}

func (s *slow) Collect(to chan<- prometheus.Metric) {
	s.collecting.Done()
	<-s.release
	s.Gauge.Collect(to)
}

// TestScrapes: what a request for metrics takes, few callers take at once.
func TestScrapes(t *testing.T) {
	metric := &slow{Gauge: prometheus.NewGauge(prometheus.GaugeOpts{Name: "slow"}), release: make(chan struct{})}
	metric.collecting.Add(maxScrapes)
	if err := metrics.Registry.Register(metric); err != nil {
		t.Fatal(err)
	}
	defer metrics.Registry.Unregister(metric)
	handler := scrapes()
	scrape := func() int {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return recorder.Code
	}
	codes := make(chan int)
	for range maxScrapes {
		go func() { codes <- scrape() }()
	}
	metric.collecting.Wait()
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	close(metric.release)
	for range maxScrapes {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("one of those that are in progress: %d", code)
		}
	}
}
