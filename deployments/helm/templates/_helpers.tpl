{{/* Names, and what every pod has in common. */}}

{{- define "callsheet.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "callsheet.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "callsheet.labels" -}}
{{ include "callsheet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "callsheet.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "callsheet.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "callsheet.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "callsheet.claim" -}}
{{- .Values.state.existingClaim | default (printf "%s-state" (include "callsheet.name" .)) -}}
{{- end -}}

{{- define "callsheet.prefectApiUrl" -}}
{{- if .Values.prefectApiUrl -}}
{{- .Values.prefectApiUrl -}}
{{- else if .Values.prefect.enabled -}}
{{- printf "http://%s.%s.svc:4200/api" (.Values.prefect.fullnameOverride | default "prefect-server") .Release.Namespace -}}
{{- else -}}
{{- fail "say where Prefect's API is (prefectApiUrl), or have its server come along (prefect.enabled)" -}}
{{- end -}}
{{- end -}}

{{/* On a server of the release's own there is no other environment. */}}
{{- define "callsheet.workPool" -}}
{{- if .Values.workPool -}}
{{- .Values.workPool -}}
{{- else -}}
{{- $name := printf "callsheet-%s-%s" .Release.Namespace .Release.Name -}}
{{- /* A pool stays of the type that it was made with. */ -}}
{{- printf "%s%s" (ternary "callsheet" $name .Values.prefect.enabled) (ternary "-jobs" "" .Values.jobs.enabled) -}}
{{- end -}}
{{- end -}}

{{/* Settings, and secrets as files. Not by a ConfigMap: a job before an upgrade would have the old. */}}
{{- define "callsheet.environment" -}}
{{- range $name, $value := .Values.settings -}}
{{- if ne (toString $value) "" }}
- name: CALLSHEET_{{ upper $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- if and .Values.board.enabled (not .Values.settings.board_url) }}
- name: CALLSHEET_BOARD_URL
  value: {{ .Values.board.url | quote }}
{{- end }}
- name: CALLSHEET_PREFECT_POOL
  value: {{ include "callsheet.workPool" . | quote }}
{{- if eq .Values.log "json" }}
- name: CALLSHEET_LOG
  value: json
{{- end }}
{{- with .Values.secrets.keys.api_key }}
- name: CALLSHEET_API_KEY_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- with .Values.secrets.keys.ledger }}
- name: CALLSHEET_LEDGER_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- with .Values.secrets.keys.webhook_secret }}
- name: CALLSHEET_WEBHOOK_SECRET_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- with .Values.secrets.keys.aws_credentials }}
- name: AWS_SHARED_CREDENTIALS_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end -}}

{{- define "callsheet.prefectEnvironment" -}}
- name: PREFECT_API_URL
  value: {{ include "callsheet.prefectApiUrl" . | quote }}
{{- with .Values.secrets.keys.prefect_auth_string }}
- name: PREFECT_API_AUTH_STRING_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- with .Values.secrets.keys.prefect_api_key }}
- name: PREFECT_API_KEY_FILE
  value: /run/secrets/callsheet/{{ . }}
{{- end }}
{{- end -}}

{{/* Image, what the container may, and where it may write. */}}
{{- define "callsheet.container" -}}
image: {{ include "callsheet.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
  - name: state
    mountPath: /srv/callsheet/.callsheet
    subPath: state
  - name: state
    mountPath: /srv/callsheet/sheets
    subPath: sheets
  - name: spool
    mountPath: /srv/callsheet/.callsheet/spool
  - name: secrets
    mountPath: /run/secrets/callsheet
    readOnly: true
{{- end -}}

{{/* What a pod is, beside its containers. Takes the chart's context, the room for downloads, and
`stateless` of one that needs nothing of what the others share, and the `component` whose pods are
spread over nodes. */}}
{{- define "callsheet.pod" -}}
{{- $ := .context -}}
automountServiceAccountToken: false
enableServiceLinks: false
# What is left of a flow run that was killed is seen off.
shareProcessNamespace: true
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with $.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if and .component $.Values.spread.keys }}
{{- $component := .component }}
topologySpreadConstraints:
  {{- range $.Values.spread.keys }}
  - maxSkew: 1
    topologyKey: {{ . | quote }}
    whenUnsatisfiable: {{ $.Values.spread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- include "callsheet.selector" $ | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
  {{- end }}
{{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 1Gi
  - name: spool
    emptyDir:
      sizeLimit: {{ .spool }}
  - name: state
    {{- if .stateless }}
    emptyDir: {}
    {{- else }}
    persistentVolumeClaim:
      claimName: {{ include "callsheet.claim" $ }}
    {{- end }}
  - name: secrets
    secret:
      secretName: {{ required "name the Secret that has the key and the ledger's address (secrets.name)" $.Values.secrets.name }}
      defaultMode: 0440
{{- end -}}

{{/* At the first install there is no hook: what the release brings along is not there before it. */}}
{{- define "callsheet.initContainers" -}}
{{- if .Release.IsInstall }}
initContainers:
  - name: migrate
    args: [callsheet, ledger, upgrade, --make]
    env: {{- include "callsheet.environment" . | nindent 6 }}
    resources: {{- toYaml .Values.migrate.resources | nindent 6 }}
    {{- include "callsheet.container" . | nindent 4 }}
{{- end }}
{{- end -}}

{{/* Which component answers Prometheus, and at which port: the receiver, or else the board. */}}
{{- define "callsheet.metricsFrom" -}}
{{- if .Values.receiver.enabled -}}
receiver
{{- else if not .Values.board.enabled -}}
{{- fail "metrics.enabled needs the receiver or the board: enable one of them" -}}
{{- else if eq (toString .Values.settings.metrics_open) "yes" -}}
board
{{- else if and .Values.metrics.serviceMonitor .Values.metrics.token.name -}}
board
{{- else -}}
{{- fail "without the receiver, the board answers Prometheus: name the Secret with a viewer's token (metrics.token.name, with metrics.serviceMonitor), or set settings.metrics_open to yes" -}}
{{- end -}}
{{- end -}}

{{/* Annotations of a pod; `port` is the one that has figures, where it has any. */}}
{{- define "callsheet.annotations" -}}
{{- $found := deepCopy .context.Values.podAnnotations -}}
{{- if and .port .context.Values.metrics.enabled (not .context.Values.metrics.serviceMonitor) -}}
{{- $_ := set $found "prometheus.io/scrape" "true" -}}
{{- $_ := set $found "prometheus.io/port" (toString .port) -}}
{{- $_ := set $found "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- with $found }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
