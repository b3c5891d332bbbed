{{/*
Names are fixed: the objects at cluster scope can be there once in a cluster, and gammaguard
finds them by their names.
*/}}

{{/* The labels of every object. */}}
{{- define "gammaguard.labels" -}}
app.kubernetes.io/name: gammaguard
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The labels and the annotations of an object that has no others. */}}
{{- define "gammaguard.metadata" -}}
labels:
  {{- include "gammaguard.labels" . | nindent 2 }}
{{- with .Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The labels and the annotations of a webhook configuration. */}}
{{- define "gammaguard.webhookMetadata" -}}
labels:
  {{- include "gammaguard.labels" . | nindent 2 }}
{{- $annotations := .Values.annotations }}
{{- if eq .Values.certificates.source "cert-manager" }}
{{- $annotations = merge (dict "cert-manager.io/inject-ca-from" (include "gammaguard.certificate" .)) .Values.annotations }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What tells the Pods from others. */}}
{{- define "gammaguard.selector" -}}
app.kubernetes.io/name: gammaguard
app.kubernetes.io/component: webhook
{{- end }}

{{/* The name of the ConfigMap. The content is part of it, so a change rolls the Pods. */}}
{{- define "gammaguard.configMap" -}}
gammaguard-config-{{ toJson .Values.configuration | sha256sum | trunc 10 }}
{{- end }}

{{/* The certificate that cert-manager issues. */}}
{{- define "gammaguard.certificate" -}}
{{ .Release.Namespace }}/gammaguard-serving-cert
{{- end }}

{{/* The ServiceAccount, as a subject of bindings. */}}
{{- define "gammaguard.subjects" -}}
subjects:
- kind: ServiceAccount
  name: gammaguard-webhook
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/* The condition of a policy under which a request is the ServiceAccount's. */}}
{{- define "gammaguard.byServiceAccount" -}}
request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:gammaguard-webhook'
{{- end }}

{{/* A list of words, in CEL. Empty ones, and those that are there twice, are left out. */}}
{{- define "gammaguard.words" -}}
['{{ . | uniq | compact | join "', '" }}']
{{- end }}
