{{/* The name of the objects: that of the release, which should contain the name of the chart. */}}
{{- define "gatewright.name" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "gatewright.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The labels that select the pods of the service. */}}
{{- define "gatewright.selector" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end -}}

{{- define "gatewright.labels" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Settings are variables of the pods, not a ConfigMap: it would not exist yet when the migration runs before an installation. */}}
{{- define "gatewright.environment" -}}
{{- $settings := dict "GATEWRIGHT_DATABASE__MIGRATE" "check" -}}
{{- if .Values.metrics.enabled -}}
{{- $settings = merge $settings (dict "GATEWRIGHT_METRICS__PORT" "9464" "GATEWRIGHT_METRICS__HOST" "0.0.0.0") -}}
{{- end -}}
{{- range $name, $value := merge (deepCopy .Values.settings) $settings -}}
{{ "" }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end -}}
{{- end -}}

{{/* What the pods of the service and of the migration have in common. */}}
{{- define "gatewright.pod" -}}
automountServiceAccountToken: false
# Otherwise Kubernetes would add variables such as GATEWRIGHT_PORT to the settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: temporary
    emptyDir: {medium: Memory, sizeLimit: 16Mi}
  - name: secrets
    secret: {secretName: {{ .Values.secretName }}, defaultMode: 0440}
{{- end -}}

{{- define "gatewright.container" -}}
image: {{ include "gatewright.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env: {{- include "gatewright.environment" . | trim | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: secrets, mountPath: /run/secrets/gatewright, readOnly: true}
  # For the files in which several processes share their metrics.
  - {name: temporary, mountPath: /tmp}
{{- end -}}
