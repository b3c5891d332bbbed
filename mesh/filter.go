package mesh

import "github.com/go-json-experiment/json/jsontext"

// Filter is a filter of a rule, or of a backendRef: the field of its type is set. What is kept
// as text has no effect that gammaguard knows.
type Filter struct {
	Type                   string           `json:"type"`
	RequestMirror          *RequestMirror   `json:"requestMirror"`
	RequestHeaderModifier  *HeaderModifier  `json:"requestHeaderModifier"`
	ResponseHeaderModifier *HeaderModifier  `json:"responseHeaderModifier"`
	RequestRedirect        *RequestRedirect `json:"requestRedirect"`
	URLRewrite             *URLRewrite      `json:"urlRewrite"`
	CORS                   *jsontext.Value  `json:"cors"`
	ExternalAuth           *jsontext.Value  `json:"externalAuth"`
	ExtensionRef           *ExtensionRef    `json:"extensionRef"`
}

// RequestMirror is a RequestMirror filter. Without Percent and Fraction it copies all requests.
type RequestMirror struct {
	BackendRef BackendRef `json:"backendRef"`
	Percent    *int32     `json:"percent"`
	Fraction   *Fraction  `json:"fraction"`
}

// Part returns the part of the requests that is copied, as parts of a number.
func (m *RequestMirror) Part() (parts, of int64) {
	switch {
	case m.Percent != nil:
		return int64(*m.Percent), 100
	case m.Fraction == nil:
		return 100, 100
	case m.Fraction.Denominator != nil && *m.Fraction.Denominator > 0: // the API server wants at least 1
		return int64(m.Fraction.Numerator), int64(*m.Fraction.Denominator)
	}
	return int64(m.Fraction.Numerator), 100
}

// Fraction is a part of the requests. The denominator is 100 where it is left out.
type Fraction struct {
	Numerator   int32  `json:"numerator"`
	Denominator *int32 `json:"denominator"`
}

// RequestRedirect is a RequestRedirect filter. An empty field was left out.
type RequestRedirect struct {
	Scheme     string        `json:"scheme"`
	Hostname   string        `json:"hostname"`
	Path       *PathModifier `json:"path"`
	Port       int32         `json:"port"`
	StatusCode int           `json:"statusCode"`
}

// URLRewrite is a URLRewrite filter.
type URLRewrite struct {
	Hostname string        `json:"hostname"`
	Path     *PathModifier `json:"path"`
}

// PathModifier changes the path of a request: one of its fields is set.
type PathModifier struct {
	ReplaceFullPath    *string `json:"replaceFullPath"`
	ReplacePrefixMatch *string `json:"replacePrefixMatch"`
}

// ExtensionRef names the object of an implementation that a filter stands for.
type ExtensionRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}
