package expect

import (
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/traffic"
)

// Kind is the kind of a file of tests.
const Kind = "TrafficTest"

// File is a file of tests. docs/gammaguard-test.schema.json describes it to editors.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Input is what the tests are about, by paths relative to the file; nil for the folder of the file.
	Input *sets.ProjectSet `json:"input,omitempty"`
	Tests []Test           `json:"tests"`

	// name is the path of the file, and line says where a field of it is.
	name string
	line func(field string) int
}

// Test is a request, and what it must meet.
type Test struct {
	// Name is the test's own in the file.
	Name string `json:"name"`
	// Meshes are the meshes that the test is meant for; empty for any.
	Meshes  []string `json:"meshes,omitempty"`
	Request Request  `json:"request"`
	Expect  Expect   `json:"expect"`

	// line is where the test stands in its file.
	line int
}

// Request is a request, or a connection, to a Service port.
type Request struct {
	// Service is NAMESPACE/NAME, or NAME where the input has one Service of the name; or else
	// ServiceImport is.
	Service       string `json:"service,omitempty"`
	ServiceImport string `json:"serviceImport,omitempty"`
	Port          int32  `json:"port"`
	// Protocol is TCP or UDP; empty for that of the port.
	Protocol string `json:"protocol,omitempty"`
	// From is the namespace of the client; empty for that of the Service.
	From string `json:"from,omitempty"`
	// Method is the HTTP method; empty for GET.
	Method string `json:"method,omitempty"`
	// Path is with or without a query; empty for /.
	Path    string            `json:"path,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// GRPC makes it a call of SERVICE/METHOD.
	GRPC string `json:"grpc,omitempty"`
	// ServerName is what a TLS client asks for.
	ServerName string `json:"serverName,omitempty"`

	// parsed is the request as package traffic takes it.
	parsed traffic.Request
}

// Expect is what a request must meet. Of Backend, Status, Shares, Redirect, and AsInRevision, one at most is set.
// What is not set is not compared.
type Expect struct {
	// Backend gets all requests: NAME:PORT, with the namespace of the Service, NAMESPACE/NAME:PORT, or as gammaguard trace
	// names it.
	Backend string `json:"backend,omitempty"`
	// Status is what the client gets where no backend answers: "404", "UNIMPLEMENTED", "connection refused".
	Status Status `json:"status,omitempty"`
	// Shares are the parts of the requests that go to several backends.
	Shares   []Share   `json:"shares,omitempty"`
	Redirect *Redirect `json:"redirect,omitempty"`
	// Route decides, as "HTTPRoute NAMESPACE/NAME".
	Route string `json:"route,omitempty"`
	// Effects are all that filters, timeouts and the like do, of the rule and of its backendRefs.
	Effects *traffic.Effects `json:"effects,omitempty"`
	// AsInRevision is a git revision, where the same request must meet the same.
	AsInRevision string `json:"asInRevision,omitempty"`
}

// Status is the answer without a backend. It may be written as a number.
type Status string

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(text []byte) error {
	*s = Status(text)
	return nil
}

// Share is the part of the requests that a backend gets, or that is answered with a status.
type Share struct {
	Backend string `json:"backend,omitempty"`
	Status  Status `json:"status,omitempty"`
	// Weight is the part, of the sum of all weights.
	Weight int64 `json:"weight"`
	// Effects are those of the backendRef alone. Where they are nil, they are compared only if those of the rule are:
	// there must be none.
	Effects *traffic.Effects `json:"effects,omitempty"`
}

// Redirect is an answer that sends the client elsewhere. One of the two is set at least.
type Redirect struct {
	Status int `json:"status,omitempty"`
	// Location is the value of the header, as gammaguard trace shows it.
	Location string `json:"location,omitempty"`
}

// The bounds of what files may hold.
const (
	// maxTests is how many tests one run has, maxName how long a name is, in bytes, and maxRevisions how many
	// revisions the tests of one run name: each is written to a temporary folder.
	maxTests     = 20_000
	maxName      = 512
	maxRevisions = 4
	// maxWeight is the sum of the weights that a rule may have.
	maxWeight = 16_000_000
)
