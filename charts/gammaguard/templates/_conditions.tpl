{{/* The match conditions of both webhooks for routes: which requests they are called for. */}}
{{- define "gammaguard.routeConditions" -}}
# An update that leaves as they are the spec, the ignore annotation, and the labels and
# annotations under the meshes' domains needs no judgment: re-syncs, and the removal of a
# finalizer, pass also while gammaguard is down. Any other update counts, of a route that
# is being deleted too: meshes program it until it is gone. The cheap comparisons come
# first; beyond 100 labels or annotations no key is looked at, and a change of any counts.
- name: changes-what-counts
  expression: >-
    oldObject == null || object.?spec != oldObject.?spec ||
    (has(object.metadata.annotations) ? object.metadata.annotations : {})[?'gammaguard.dev/ignore'] !=
    (has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {})[?'gammaguard.dev/ignore'] ||
    [[has(object.metadata.labels) ? object.metadata.labels : {},
    has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}],
    [has(object.metadata.annotations) ? object.metadata.annotations : {},
    has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}]].exists(keys,
    keys[0] != keys[1] && (size(keys[0]) > 100 || size(keys[1]) > 100 ||
    keys[0].exists(key, keys[0][?key] != keys[1][?key] && key.matches('^([^/]*[.])?(cilium[.]io|consul[.]hashicorp[.]com|io[.]cilium|istio[.]io|kuma[.]io|linkerd[.]io)/')) ||
    keys[1].exists(key, !(key in keys[0]) && key.matches('^([^/]*[.])?(cilium[.]io|consul[.]hashicorp[.]com|io[.]cilium|istio[.]io|kuma[.]io|linkerd[.]io)/'))))
# A parentRef that is not a Gateway or ListenerSet of the Gateway API; Gateway is
# what an omitted kind or group stands for. The definition of Linkerd's HTTPRoute fills in
# its own group for an omitted one. Fields of the wrong type match
# nothing: they are for the schema to refuse.
- name: has-mesh-parent
  expression: >-
    has(object.spec) && type(object.spec) == map &&
    has(object.spec.parentRefs) && type(object.spec.parentRefs) == list &&
    object.spec.parentRefs.exists(ref, type(ref) == map && (
    (has(ref.group) ? ref.group : 'gateway.networking.k8s.io') != 'gateway.networking.k8s.io' ||
    !((has(ref.kind) ? ref.kind : 'Gateway') in ['Gateway', 'ListenerSet'])))
{{- end }}
