// Code generated from the tags of the types by TestGenerated. DO NOT EDIT.

package webhook

import (
	"time"

	"github.com/go-faster/jx"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

func quickEnvelope(d *jx.Decoder, v *envelope) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "apiVersion":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.APIVersion)
		case "kind":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "request":
			if seen.again(2) {
				return errSlow
			}
			v.Request = new(request)
			return quickRequest(d, v.Request)
		}
		return d.Skip()
	})
}

func quickRoute(d *jx.Decoder, v *mesh.Route) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "apiVersion":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.APIVersion)
		case "kind":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "metadata":
			if seen.again(2) {
				return errSlow
			}
			return quickMetadata(d, &v.Metadata)
		case "spec":
			if seen.again(3) {
				return errSlow
			}
			return quickRouteSpec(d, &v.Spec)
		}
		return d.Skip()
	})
}

func quickController(d *jx.Decoder, v *mesh.Controller) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "kind":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "name":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "controller":
			if seen.again(2) {
				return errSlow
			}
			return quickBool(d, &v.Controls)
		}
		return d.Skip()
	})
}

func quickMethodMatch(d *jx.Decoder, v *mesh.MethodMatch) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "type":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Type)
		case "service":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Service)
		case "method":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.Method)
		}
		return d.Skip()
	})
}

func quickRequest(d *jx.Decoder, v *request) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "uid":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.UID)
		case "name":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "namespace":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Namespace)
		case "operation":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.Operation)
		case "subResource":
			if seen.again(4) {
				return errSlow
			}
			return quickString(d, &v.SubResource)
		case "dryRun":
			if seen.again(5) {
				return errSlow
			}
			return quickBool(d, &v.DryRun)
		case "userInfo":
			if seen.again(6) {
				return errSlow
			}
			return quickUserInfo(d, &v.UserInfo)
		case "object":
			if seen.again(7) {
				return errSlow
			}
			return quickObject(d, &v.Posted)
		case "oldObject":
			if seen.again(8) {
				return errSlow
			}
			return quickRaw(d, &v.OldObject)
		}
		return d.Skip()
	})
}

func quickMetadata(d *jx.Decoder, v *mesh.Metadata) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "namespace":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Namespace)
		case "name":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "generateName":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.GenerateName)
		case "uid":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.UID)
		case "generation":
			if seen.again(4) {
				return errSlow
			}
			return quickInt64(d, &v.Generation)
		case "creationTimestamp":
			if seen.again(5) {
				return errSlow
			}
			return quickTime(d, &v.CreationTimestamp)
		case "deletionTimestamp":
			if seen.again(6) {
				return errSlow
			}
			v.DeletionTimestamp = new(time.Time)
			return quickTime(d, v.DeletionTimestamp)
		case "annotations":
			if seen.again(7) {
				return errSlow
			}
			return quickAnnotations(d, &v.Annotations)
		case "ownerReferences":
			if seen.again(8) {
				return errSlow
			}
			return quickControllers(d, &v.Controllers)
		}
		return d.Skip()
	})
}

func quickRouteSpec(d *jx.Decoder, v *mesh.RouteSpec) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "parentRefs":
			if seen.again(0) {
				return errSlow
			}
			v.ParentRefs = []mesh.ParentRef{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.ParentRefs) == 32 {
					return errSlow
				}
				v.ParentRefs = append(v.ParentRefs, mesh.ParentRef{})
				return quickParentRef(d, &v.ParentRefs[len(v.ParentRefs)-1])
			})
		case "hostnames":
			if seen.again(1) {
				return errSlow
			}
			v.Hostnames = mesh.Hostnames{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Hostnames) == 1024 {
					return errSlow
				}
				v.Hostnames = append(v.Hostnames, "")
				return quickString(d, &v.Hostnames[len(v.Hostnames)-1])
			})
		case "rules":
			if seen.again(2) {
				return errSlow
			}
			v.Rules = []mesh.RouteRule{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Rules) == 16 {
					return errSlow
				}
				v.Rules = append(v.Rules, mesh.RouteRule{})
				return quickRouteRule(d, &v.Rules[len(v.Rules)-1])
			})
		case "useDefaultGateways":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.UseDefaultGateways)
		}
		return d.Skip()
	})
}

func quickUserInfo(d *jx.Decoder, v *userInfo) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "username":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Username)
		case "groups":
			if seen.again(1) {
				return errSlow
			}
			v.Groups = groups{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Groups) == 10000 {
					return errSlow
				}
				v.Groups = append(v.Groups, "")
				return quickString(d, &v.Groups[len(v.Groups)-1])
			})
		}
		return d.Skip()
	})
}

func quickAnnotations(d *jx.Decoder, v *mesh.Annotations) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "gammaguard.dev/ignore":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Ignore)
		}
		return d.Skip()
	})
}

func quickParentRef(d *jx.Decoder, v *mesh.ParentRef) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "group":
			if seen.again(0) {
				return errSlow
			}
			v.Group = new(string)
			return quickString(d, v.Group)
		case "kind":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "namespace":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Namespace)
		case "name":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "sectionName":
			if seen.again(4) {
				return errSlow
			}
			return quickString(d, &v.SectionName)
		case "port":
			if seen.again(5) {
				return errSlow
			}
			return quickInt32(d, &v.Port)
		}
		return d.Skip()
	})
}

func quickRouteRule(d *jx.Decoder, v *mesh.RouteRule) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "name":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "matches":
			if seen.again(1) {
				return errSlow
			}
			v.Matches = []mesh.RouteMatch{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Matches) == 64 {
					return errSlow
				}
				v.Matches = append(v.Matches, mesh.RouteMatch{})
				return quickRouteMatch(d, &v.Matches[len(v.Matches)-1])
			})
		case "filters":
			if seen.again(2) {
				return errSlow
			}
			v.Filters = []mesh.Filter{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Filters) == 16 {
					return errSlow
				}
				v.Filters = append(v.Filters, mesh.Filter{})
				return quickFilter(d, &v.Filters[len(v.Filters)-1])
			})
		case "backendRefs":
			if seen.again(3) {
				return errSlow
			}
			v.BackendRefs = []mesh.BackendRef{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.BackendRefs) == 16 {
					return errSlow
				}
				v.BackendRefs = append(v.BackendRefs, mesh.BackendRef{})
				return quickBackendRef(d, &v.BackendRefs[len(v.BackendRefs)-1])
			})
		case "timeouts":
			if seen.again(4) {
				return errSlow
			}
			v.Timeouts = new(mesh.Timeouts)
			return quickTimeouts(d, v.Timeouts)
		case "retry":
			if seen.again(5) {
				return errSlow
			}
			v.Retry = new(jsontext.Value)
			return quickRaw(d, v.Retry)
		case "sessionPersistence":
			if seen.again(6) {
				return errSlow
			}
			v.SessionPersistence = new(jsontext.Value)
			return quickRaw(d, v.SessionPersistence)
		}
		return d.Skip()
	})
}

func quickRouteMatch(d *jx.Decoder, v *mesh.RouteMatch) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "path":
			if seen.again(0) {
				return errSlow
			}
			v.Path = new(mesh.PathMatch)
			return quickPathMatch(d, v.Path)
		case "headers":
			if seen.again(1) {
				return errSlow
			}
			v.Headers = []mesh.ValueMatch{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Headers) == 16 {
					return errSlow
				}
				v.Headers = append(v.Headers, mesh.ValueMatch{})
				return quickValueMatch(d, &v.Headers[len(v.Headers)-1])
			})
		case "queryParams":
			if seen.again(2) {
				return errSlow
			}
			v.QueryParams = []mesh.ValueMatch{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.QueryParams) == 16 {
					return errSlow
				}
				v.QueryParams = append(v.QueryParams, mesh.ValueMatch{})
				return quickValueMatch(d, &v.QueryParams[len(v.QueryParams)-1])
			})
		case "method":
			if seen.again(3) {
				return errSlow
			}
			v.Method = new(mesh.MethodMatch)
			return quickMethod(d, v.Method)
		}
		return d.Skip()
	})
}

func quickFilter(d *jx.Decoder, v *mesh.Filter) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "type":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Type)
		case "requestMirror":
			if seen.again(1) {
				return errSlow
			}
			v.RequestMirror = new(mesh.RequestMirror)
			return quickRequestMirror(d, v.RequestMirror)
		case "requestHeaderModifier":
			if seen.again(2) {
				return errSlow
			}
			v.RequestHeaderModifier = new(mesh.HeaderModifier)
			return quickHeaderModifier(d, v.RequestHeaderModifier)
		case "responseHeaderModifier":
			if seen.again(3) {
				return errSlow
			}
			v.ResponseHeaderModifier = new(mesh.HeaderModifier)
			return quickHeaderModifier(d, v.ResponseHeaderModifier)
		case "requestRedirect":
			if seen.again(4) {
				return errSlow
			}
			v.RequestRedirect = new(mesh.RequestRedirect)
			return quickRequestRedirect(d, v.RequestRedirect)
		case "urlRewrite":
			if seen.again(5) {
				return errSlow
			}
			v.URLRewrite = new(mesh.URLRewrite)
			return quickURLRewrite(d, v.URLRewrite)
		case "cors":
			if seen.again(6) {
				return errSlow
			}
			v.CORS = new(jsontext.Value)
			return quickRaw(d, v.CORS)
		case "externalAuth":
			if seen.again(7) {
				return errSlow
			}
			v.ExternalAuth = new(jsontext.Value)
			return quickRaw(d, v.ExternalAuth)
		case "extensionRef":
			if seen.again(8) {
				return errSlow
			}
			v.ExtensionRef = new(mesh.ExtensionRef)
			return quickExtensionRef(d, v.ExtensionRef)
		}
		return d.Skip()
	})
}

func quickBackendRef(d *jx.Decoder, v *mesh.BackendRef) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "group":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Group)
		case "kind":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "namespace":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Namespace)
		case "name":
			if seen.again(3) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "port":
			if seen.again(4) {
				return errSlow
			}
			return quickInt32(d, &v.Port)
		case "weight":
			if seen.again(5) {
				return errSlow
			}
			v.Weight = new(int32)
			return quickInt32(d, v.Weight)
		case "filters":
			if seen.again(6) {
				return errSlow
			}
			v.Filters = []mesh.Filter{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Filters) == 16 {
					return errSlow
				}
				v.Filters = append(v.Filters, mesh.Filter{})
				return quickFilter(d, &v.Filters[len(v.Filters)-1])
			})
		}
		return d.Skip()
	})
}

func quickTimeouts(d *jx.Decoder, v *mesh.Timeouts) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "request":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Request)
		case "backendRequest":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.BackendRequest)
		}
		return d.Skip()
	})
}

func quickPathMatch(d *jx.Decoder, v *mesh.PathMatch) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "type":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Type)
		case "value":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Value)
		}
		return d.Skip()
	})
}

func quickValueMatch(d *jx.Decoder, v *mesh.ValueMatch) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "type":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Type)
		case "name":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "value":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Value)
		}
		return d.Skip()
	})
}

func quickRequestMirror(d *jx.Decoder, v *mesh.RequestMirror) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "backendRef":
			if seen.again(0) {
				return errSlow
			}
			return quickBackendRef(d, &v.BackendRef)
		case "percent":
			if seen.again(1) {
				return errSlow
			}
			v.Percent = new(int32)
			return quickInt32(d, v.Percent)
		case "fraction":
			if seen.again(2) {
				return errSlow
			}
			v.Fraction = new(mesh.Fraction)
			return quickFraction(d, v.Fraction)
		}
		return d.Skip()
	})
}

func quickHeaderModifier(d *jx.Decoder, v *mesh.HeaderModifier) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "set":
			if seen.again(0) {
				return errSlow
			}
			v.Set = []mesh.Header{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Set) == 16 {
					return errSlow
				}
				v.Set = append(v.Set, mesh.Header{})
				return quickHeader(d, &v.Set[len(v.Set)-1])
			})
		case "add":
			if seen.again(1) {
				return errSlow
			}
			v.Add = []mesh.Header{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Add) == 16 {
					return errSlow
				}
				v.Add = append(v.Add, mesh.Header{})
				return quickHeader(d, &v.Add[len(v.Add)-1])
			})
		case "remove":
			if seen.again(2) {
				return errSlow
			}
			v.Remove = mesh.HeaderNames{}
			return d.Arr(func(d *jx.Decoder) error {
				if len(v.Remove) == 16 {
					return errSlow
				}
				v.Remove = append(v.Remove, "")
				return quickString(d, &v.Remove[len(v.Remove)-1])
			})
		}
		return d.Skip()
	})
}

func quickRequestRedirect(d *jx.Decoder, v *mesh.RequestRedirect) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "scheme":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Scheme)
		case "hostname":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Hostname)
		case "path":
			if seen.again(2) {
				return errSlow
			}
			v.Path = new(mesh.PathModifier)
			return quickPathModifier(d, v.Path)
		case "port":
			if seen.again(3) {
				return errSlow
			}
			return quickInt32(d, &v.Port)
		case "statusCode":
			if seen.again(4) {
				return errSlow
			}
			return quickInt(d, &v.StatusCode)
		}
		return d.Skip()
	})
}

func quickURLRewrite(d *jx.Decoder, v *mesh.URLRewrite) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "hostname":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Hostname)
		case "path":
			if seen.again(1) {
				return errSlow
			}
			v.Path = new(mesh.PathModifier)
			return quickPathModifier(d, v.Path)
		}
		return d.Skip()
	})
}

func quickExtensionRef(d *jx.Decoder, v *mesh.ExtensionRef) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "group":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Group)
		case "kind":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Kind)
		case "name":
			if seen.again(2) {
				return errSlow
			}
			return quickString(d, &v.Name)
		}
		return d.Skip()
	})
}

func quickFraction(d *jx.Decoder, v *mesh.Fraction) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "numerator":
			if seen.again(0) {
				return errSlow
			}
			return quickInt32(d, &v.Numerator)
		case "denominator":
			if seen.again(1) {
				return errSlow
			}
			v.Denominator = new(int32)
			return quickInt32(d, v.Denominator)
		}
		return d.Skip()
	})
}

func quickHeader(d *jx.Decoder, v *mesh.Header) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "name":
			if seen.again(0) {
				return errSlow
			}
			return quickString(d, &v.Name)
		case "value":
			if seen.again(1) {
				return errSlow
			}
			return quickString(d, &v.Value)
		}
		return d.Skip()
	})
}

func quickPathModifier(d *jx.Decoder, v *mesh.PathModifier) error {
	var seen seenFields
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "replaceFullPath":
			if seen.again(0) {
				return errSlow
			}
			v.ReplaceFullPath = new(string)
			return quickString(d, v.ReplaceFullPath)
		case "replacePrefixMatch":
			if seen.again(1) {
				return errSlow
			}
			v.ReplacePrefixMatch = new(string)
			return quickString(d, v.ReplacePrefixMatch)
		}
		return d.Skip()
	})
}
