{{- define "sluice.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "sluice.name" .) .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "sluice.labels" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: sluice
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "sluice.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ required "set serviceAccount.name, or serviceAccount.create: true" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "sluice.caSecret" -}}
{{ include "sluice.fullname" . }}-ca
{{- end }}

{{- /* The Secret with a serving certificate of others; empty if pods issue their own. */ -}}
{{- define "sluice.tlsSecret" -}}
{{- if .Values.certificate.secret -}}
{{ .Values.certificate.secret }}
{{- else if and .Values.certificate.certManager.enabled .Values.certificate.certManager.issuerRef -}}
{{ include "sluice.fullname" . }}-tls
{{- end -}}
{{- end }}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{- /* The names of a Service, as JSON. */ -}}
{{- define "sluice.names" -}}
{{- $name := .name -}}
{{ list $name (printf "%s.%s" $name .namespace) (printf "%s.%s.svc" $name .namespace) (printf "%s.%s.svc.cluster.local" $name .namespace) | toJson }}
{{- end }}

{{- /* The names in the serving certificate, as JSON. */ -}}
{{- define "sluice.hosts" -}}
{{- $own := include "sluice.names" (dict "name" (include "sluice.fullname" .) "namespace" .Release.Namespace) | fromJsonArray -}}
{{- if and .Values.proxy.enabled (include "sluice.tlsSecret" .) -}}
{{- /* By these, clients ask the proxy for the apiserver. Only a helm that reads the cluster knows the addresses. */ -}}
{{- $addresses := dig "spec" "clusterIPs" list (lookup "v1" "Service" "default" "kubernetes") -}}
{{- $own = concat $own (include "sluice.names" (dict "name" "kubernetes" "namespace" "default") | fromJsonArray) $addresses -}}
{{- end -}}
{{ concat $own .Values.certificate.hosts | uniq | toJson }}
{{- end }}

{{- define "sluice.config" -}}
{{- $adminHosts := include "sluice.names" (dict "name" (printf "%s-admin" (include "sluice.fullname" .)) "namespace" .Release.Namespace) | fromJsonArray -}}
{{- $tls := dict "certDir" "/etc/sluice/tls" "hosts" (include "sluice.hosts" . | fromJsonArray) -}}
{{- if include "sluice.tlsSecret" . -}}
{{- $tls = dict "certFile" "/etc/sluice/tls/tls.crt" "keyFile" "/etc/sluice/tls/tls.key" -}}
{{- end -}}
{{- $own := dict
  "apiVersion" "sluice/v1alpha1"
  "kind" "Configuration"
  "listen" ":8443"
  "tls" $tls
  "admin" (dict "listen" ":9443" "hosts" $adminHosts)
  "shutdown" (dict "delay" "5s")
-}}
{{ mustMergeOverwrite $own (deepCopy .Values.config) | toYaml }}
{{- end }}
