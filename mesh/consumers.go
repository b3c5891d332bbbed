package mesh

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// ConsumerRoutes is the value of ConsumerRoutesLabel: whether consumer routes
// are accepted (GEP-724: the parent decides whom it trusts).
type ConsumerRoutes string

// The values of ConsumerRoutesLabel on a namespace or a Service.
const (
	ConsumersAllowed ConsumerRoutes = "allow"
	ConsumersDenied  ConsumerRoutes = "deny"
)

// consumerRoutes returns the values, the strictest first.
func consumerRoutes() []ConsumerRoutes { return []ConsumerRoutes{ConsumersDenied, ConsumersAllowed} }

// The annotations, on a namespace or a Service, that narrow which consumer routes
// are accepted (GEP-724: the parent trusts namespaces, and kinds of routes).
const (
	// ConsumerRoutesFromAnnotation is a label selector over the labels of the route's
	// namespace.
	ConsumerRoutesFromAnnotation = "gammaguard.dev/consumer-routes-from"
	// ConsumerRouteKindsAnnotation lists route kinds, separated by commas.
	ConsumerRouteKindsAnnotation = "gammaguard.dev/consumer-route-kinds"
)

// ConsumerAnnotations are the annotations that narrow which consumer routes are
// accepted. A field is nil where its annotation is not set.
type ConsumerAnnotations struct {
	From  *ConsumerNamespaces `json:"gammaguard.dev/consumer-routes-from"`
	Kinds *KindList           `json:"gammaguard.dev/consumer-route-kinds"`
}

// Unreadable yields those that cannot be read, by key, with a sentence on what they then do.
func (c *ConsumerAnnotations) Unreadable() iter.Seq2[string, string] {
	return func(yield func(key, sentence string) bool) {
		const refuses = "no consumer routes are accepted"
		if c.From != nil && c.From.Invalid && !yield(ConsumerRoutesFromAnnotation, unreadable(ConsumerRoutesFromAnnotation, refuses)+
			": the value is a label selector, such as team=web") {
			return
		}
		if c.Kinds != nil && c.Kinds.Invalid {
			yield(ConsumerRouteKindsAnnotation, unreadable(ConsumerRouteKindsAnnotation, refuses)+c.Kinds.noKind())
		}
	}
}

// ConsumerNamespaces is the value of ConsumerRoutesFromAnnotation: the namespaces
// whose consumer routes are accepted.
type ConsumerNamespaces struct {
	Annotation `json:"-"`
	selector   labels.Selector
}

// UnmarshalText implements encoding.TextUnmarshaler. It never fails: an annotation may
// have any value.
func (c *ConsumerNamespaces) UnmarshalText(text []byte) error {
	if c.read(text); !c.Invalid {
		var err error
		c.selector, err = labels.Parse(c.Value)
		c.Invalid = err != nil
	}
	return nil
}

func (c *ConsumerNamespaces) accepts(from *Namespace) bool {
	return !c.Invalid && from != nil && c.selector.Matches(labels.Set(from.Labels))
}

// Refusal is why consumer routes to a Service are refused. The zero value: they are
// not.
type Refusal struct {
	// By identifies whose setting refuses.
	By RefusedBy
	// Setting is that setting: ConsumerRoutesLabel, ConsumerRoutesFromAnnotation, or
	// ConsumerRouteKindsAnnotation.
	Setting string
	// Annotation is the annotation's value.
	Annotation
	// Also are the other settings that refuse the routes too, as they do once the one before no longer does.
	Also []Refusal
}

// Selects reports whether the refusal depends on the labels of the route's namespace.
func (r *Refusal) Selects() bool { return r.Setting == ConsumerRoutesFromAnnotation && !r.Invalid }

// RefusedBy identifies whose setting refuses consumer routes to a Service.
type RefusedBy uint8

const (
	// NotRefused: consumer routes are accepted.
	NotRefused RefusedBy = iota
	// RefusedByNamespace: the Service's namespace refuses them, and the Service
	// does not override it.
	RefusedByNamespace
	// RefusedByService: the Service's owner refuses them.
	RefusedByService
	// RefusedByDefault: the configuration refuses them, and neither the Service nor its
	// namespace accepts them.
	RefusedByDefault
)

// RefusesConsumers reports whether the Service refuses consumer routes of the kind from
// the namespace, which is nil if it does not exist. The Service's own label and
// annotations each override those of its namespace, and the label of either the default; an
// unknown value of the label, and an annotation that cannot be read, refuse. The Service and
// its namespace may be nil, where they do not exist. The refusal names the setting that counts, and what refuses besides.
func (p *GrantPolicy) RefusesConsumers(theirs *Namespace, service *Service, from *Namespace, kind RouteKind) Refusal {
	if theirs == nil {
		theirs = &Namespace{}
	}
	if service == nil {
		service = &Service{}
	}
	var refusals []Refusal
	policy, _ := theirs.Policy()
	if label := cmp.Or(ConsumerRoutes(service.ConsumerRoutes), policy.ConsumerRoutes, p.ConsumerRoutes, ConsumersAllowed); label != ConsumersAllowed {
		by := RefusedByDefault
		switch {
		case service.ConsumerRoutes != "":
			by = RefusedByService
		case policy.ConsumerRoutes != "":
			by = RefusedByNamespace
		}
		refusals = append(refusals, Refusal{By: by, Setting: ConsumerRoutesLabel})
	}
	if selector, by := refusing(service.From, theirs.From, func(c *ConsumerNamespaces) bool { return c.accepts(from) }); selector != nil {
		refusals = append(refusals, Refusal{By: by, Setting: ConsumerRoutesFromAnnotation, Annotation: selector.Annotation})
	}
	if kinds, by := refusing(service.Kinds, theirs.Kinds, func(l *KindList) bool { return l.Accepts(kind) }); kinds != nil {
		refusals = append(refusals, Refusal{By: by, Setting: ConsumerRouteKindsAnnotation, Annotation: kinds.Annotation})
	}
	if len(refusals) == 0 {
		return Refusal{}
	}
	refusals[0].Also = refusals[1:]
	return refusals[0]
}

// refusing returns the annotation that counts, of the Service's own and its namespace's, if it
// refuses; nil if it accepts.
func refusing[A any](own, theirs *A, accepts func(*A) bool) (*A, RefusedBy) {
	switch counts := cmp.Or(own, theirs); {
	case counts == nil || accepts(counts):
		return nil, NotRefused
	case own == nil:
		return theirs, RefusedByNamespace
	}
	return own, RefusedByService
}

// Handshake asks the Service's side whether it refuses routes of the kind from the
// namespace (GEP-724). Unknown: that cannot be known. The error is the failure of a read.
func (p *GrantPolicy) Handshake(world Reader, service ServiceKey, from string, kind RouteKind) (refusal Refusal, unknown bool, err error) {
	namespace, whyTheirs := FindNamespace(world, service.Namespace)
	theirs, err := Known(namespace, whyTheirs)
	if err != nil {
		return Refusal{}, false, err
	}
	namespace, whyOwn := FindNamespace(world, from)
	own, err := Known(namespace, whyOwn)
	if err != nil {
		return Refusal{}, false, err
	}
	found, whyParent := FindService(world, service)
	parent, err := Known(found, whyParent)
	if err != nil {
		return Refusal{}, false, err
	}
	refusal = p.RefusesConsumers(theirs, parent, own, kind)
	if errors.Is(whyOwn, ErrUnknown) {
		refusal.Also = slices.DeleteFunc(refusal.Also, func(r Refusal) bool { return r.Selects() })
	}
	switch {
	case refusal.By == NotRefused:
		return refusal, errors.Is(whyTheirs, ErrUnknown) && parent == nil, nil
	case refusal.Selects() && errors.Is(whyOwn, ErrUnknown),
		refusal.By == RefusedByDefault && (errors.Is(whyTheirs, ErrUnknown) || errors.Is(whyParent, ErrUnknown)):
		return Refusal{}, true, nil
	}
	return refusal, false, nil
}
