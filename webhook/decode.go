package webhook

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"github.com/gammaguard/gammaguard/mesh"
)

// decode reads an AdmissionReview: the fields of an envelope, each once, in one
// pass over the text. It is the largest part of what a request costs, which is why
// no reflection is in it; a test holds it to reading what sigs.k8s.io/json reads by
// the types' tags. Names are case-sensitive, null counts as left out, and of a
// name that is there twice, which the API server never sends, the last counts. An
// error names the place.
func decode(body []byte) (*envelope, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(body)
	e := new(envelope)
	if err := decodeEnvelope(d, e); err != nil {
		return nil, err
	}
	if d.Skip() != io.EOF { //nolint:errorlint // as is
		return nil, errors.New("there is more after the AdmissionReview")
	}
	return e, nil
}

func decodeEnvelope(d *jx.Decoder, e *envelope) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "apiVersion":
			return text(d, &e.APIVersion)
		case "kind":
			return text(d, &e.Kind)
		case "request":
			return pointer(d, &e.Request, decodeRequest)
		}
		return d.Skip()
	})
}

func decodeRequest(d *jx.Decoder, r *request) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "uid":
			return text(d, &r.UID)
		case "name":
			return text(d, &r.Name)
		case "namespace":
			return text(d, &r.Namespace)
		case "operation":
			return text(d, &r.Operation)
		case "subResource":
			return text(d, &r.SubResource)
		case "dryRun":
			return value(d, jx.Bool, &r.DryRun, (*jx.Decoder).Bool)
		case "userInfo":
			return object(d, func(name []byte) error {
				switch string(name) {
				case "username":
					return text(d, &r.UserInfo.Username)
				case "groups":
					return list(d, &r.UserInfo.Groups, text[string])
				}
				return d.Skip()
			})
		case "object":
			return decodeRoute(d, &r.Object)
		}
		return d.Skip()
	})
}

func decodeRoute(d *jx.Decoder, r *mesh.Route) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "kind":
			return text(d, &r.Kind)
		case "metadata":
			return decodeMetadata(d, &r.Metadata)
		case "spec":
			return decodeSpec(d, &r.Spec)
		}
		return d.Skip()
	})
}

func decodeMetadata(d *jx.Decoder, m *mesh.Metadata) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "namespace":
			return text(d, &m.Namespace)
		case "name":
			return text(d, &m.Name)
		case "generateName":
			return text(d, &m.GenerateName)
		case "uid":
			return text(d, &m.UID)
		case "generation":
			return value(d, jx.Number, &m.Generation, (*jx.Decoder).Int64)
		case "creationTimestamp":
			return timestamp(d, &m.CreationTimestamp)
		case "deletionTimestamp":
			return pointer(d, &m.DeletionTimestamp, timestamp)
		case "annotations":
			return object(d, func(name []byte) error {
				if string(name) == mesh.IgnoreAnnotation {
					return text(d, &m.Annotations.Ignore)
				}
				return d.Skip()
			})
		}
		return d.Skip()
	})
}

func decodeSpec(d *jx.Decoder, s *mesh.RouteSpec) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "parentRefs":
			return list(d, &s.ParentRefs, decodeParentRef)
		case "hostnames":
			return list(d, &s.Hostnames, text[string])
		case "rules":
			return list(d, &s.Rules, decodeRule)
		}
		return d.Skip()
	})
}

func decodeParentRef(d *jx.Decoder, p *mesh.ParentRef) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "group":
			return pointer(d, &p.Group, text[string])
		case "kind":
			return text(d, &p.Kind)
		case "namespace":
			return text(d, &p.Namespace)
		case "name":
			return text(d, &p.Name)
		case "sectionName":
			return text(d, &p.SectionName)
		case "port":
			return number(d, &p.Port)
		}
		return d.Skip()
	})
}

func decodeRule(d *jx.Decoder, r *mesh.RouteRule) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "matches":
			return list(d, &r.Matches, decodeMatch)
		case "filters":
			return list(d, &r.Filters, decodeFilter)
		case "backendRefs":
			return list(d, &r.BackendRefs, decodeBackendRef)
		}
		return d.Skip()
	})
}

func decodeMatch(d *jx.Decoder, m *mesh.RouteMatch) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "path":
			return pointer(d, &m.Path, decodeValueMatch)
		case "headers":
			return list(d, &m.Headers, decodeValueMatch)
		case "queryParams":
			return list(d, &m.QueryParams, decodeValueMatch)
		case "method":
			return pointer(d, &m.Method, decodeMethodMatch)
		}
		return d.Skip()
	})
}

func decodeValueMatch(d *jx.Decoder, m *mesh.ValueMatch) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "type":
			return text(d, &m.Type)
		case "name":
			return text(d, &m.Name)
		case "value":
			return text(d, &m.Value)
		}
		return d.Skip()
	})
}

func decodeMethodMatch(d *jx.Decoder, m *mesh.MethodMatch) error {
	if d.Next() == jx.String {
		return text(d, &m.HTTP)
	}
	return object(d, func(name []byte) error {
		switch string(name) {
		case "type":
			return text(d, &m.Type)
		case "service":
			return text(d, &m.Service)
		case "method":
			return text(d, &m.Method)
		}
		return d.Skip()
	})
}

func decodeFilter(d *jx.Decoder, f *mesh.Filter) error {
	return object(d, func(name []byte) error {
		if string(name) == "requestMirror" {
			return pointer(d, &f.RequestMirror, decodeMirror)
		}
		return d.Skip()
	})
}

func decodeMirror(d *jx.Decoder, m *mesh.RequestMirror) error {
	return object(d, func(name []byte) error {
		if string(name) == "backendRef" {
			return decodeBackendRef(d, &m.BackendRef)
		}
		return d.Skip()
	})
}

func decodeBackendRef(d *jx.Decoder, b *mesh.BackendRef) error {
	return object(d, func(name []byte) error {
		switch string(name) {
		case "group":
			return text(d, &b.Group)
		case "kind":
			return text(d, &b.Kind)
		case "namespace":
			return text(d, &b.Namespace)
		case "name":
			return text(d, &b.Name)
		case "port":
			return number(d, &b.Port)
		case "weight":
			return pointer(d, &b.Weight, number)
		case "filters":
			return list(d, &b.Filters, decodeFilter)
		}
		return d.Skip()
	})
}
