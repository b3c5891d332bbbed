package proxies

// The types below are what linkerd diagnostics policy prints for a Service: an OutboundPolicy of
// linkerd2-proxy-api, as encoding/json writes its Go types. Each oneof is an object of one field.

// linkerd is the policy of one Service port.
type linkerd struct {
	Protocol struct{ Kind linkerdProtocol }
	Metadata linkerdMetadata
}

type linkerdProtocol struct {
	Detect *struct{ HTTP1, HTTP2 linkerdRoutes }
	HTTP1  *linkerdRoutes
	HTTP2  *linkerdRoutes
	GRPC   *linkerdRoutes
	Opaque *struct{}
	TLS    *struct{}
}

type linkerdRoutes struct{ Routes []linkerdRoute }

type linkerdMetadata struct {
	Kind struct {
		Default  string
		Resource *struct {
			Kind, Name, Namespace string
			Port                  int64
		}
	}
}

type linkerdRoute struct {
	Metadata linkerdMetadata
	Hosts    []struct {
		Match struct {
			Exact  string
			Suffix *struct {
				ReverseLabels []string `json:"reverse_labels"`
			}
		}
	}
	Rules []linkerdRule
}

type linkerdRule struct {
	Matches        []linkerdMatch
	Filters        []linkerdFilter
	Backends       linkerdDistribution
	Timeouts       struct{ Request *linkerdDuration }
	RequestTimeout *linkerdDuration // in older releases
}

type linkerdDuration struct{ Seconds, Nanos int64 }

type linkerdMatch struct {
	Path *struct {
		Kind struct{ Exact, Prefix, Regex *string }
	}
	Headers []struct {
		Name  string
		Value struct {
			Exact *linkerdBytes
			Regex *string
		}
	}
	QueryParams []struct {
		Name  string
		Value struct{ Exact, Regex *string }
	} `json:"query_params"`
	Method *struct{ Type linkerdWord }
	RPC    *struct{ Service, Method string }
}

// linkerdWord is a word of a list, by its number, or another one.
type linkerdWord struct {
	Registered   *int
	Unregistered string
}

// linkerdBytes is a text that the proxy takes as bytes, in base64.
type linkerdBytes []byte

type linkerdFilter struct {
	Kind struct {
		FailureInjector        *struct{ Status, Code int }
		RequestHeaderModifier  *linkerdHeaders
		ResponseHeaderModifier *linkerdHeaders
		Redirect               *struct {
			Scheme *struct{ Type linkerdWord }
			Host   string
			Path   *struct {
				Replace struct{ Full, Prefix *string }
			}
			Port   int32
			Status int
		}
	}
}

type linkerdHeaders struct {
	Add, Set struct {
		Headers []struct {
			Name  string
			Value linkerdBytes
		}
	}
	Remove []string
}

type linkerdDistribution struct {
	Kind struct {
		Empty          *struct{}
		FirstAvailable *struct {
			Backends []linkerdBackend
		}
		RandomAvailable *struct {
			Backends []struct {
				Backend linkerdBackend
				Weight  int64
			}
		}
	}
}

type linkerdBackend struct {
	Backend *struct {
		Metadata linkerdMetadata
		Kind     struct {
			Balancer *struct {
				Discovery struct {
					Kind struct{ Dst struct{ Path string } }
				}
			}
		}
	}
	Filters []linkerdFilter
}
