{{/* What a component that serves has around its pods. Each takes the chart's context and its name. */}}

{{- define "callsheet.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "callsheet.name" .context }}-{{ .component }}
  labels: {{- include "callsheet.labels" .context | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  # Not minAvailable: of one pod that would let no node be drained.
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "callsheet.selector" .context | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "callsheet.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "callsheet.name" .context }}-{{ .component }}
  labels: {{- include "callsheet.labels" .context | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector: {{- include "callsheet.selector" .context | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  ports:
    - name: http
      port: {{ .values.service.port }}
      targetPort: http
{{- end -}}

{{- define "callsheet.ingress" -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "callsheet.name" .context }}-{{ .component }}
  labels: {{- include "callsheet.labels" .context | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .values.ingress.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .values.ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .values.ingress.tlsSecret }}
  tls:
    - hosts: [{{ $.values.ingress.host | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ .values.ingress.host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ include "callsheet.name" .context }}-{{ .component }}
                port:
                  name: http
{{- end -}}

{{/* What surrounds a component that serves, each part where it is wanted. */}}
{{- define "callsheet.around" -}}
---
{{ include "callsheet.service" . }}
{{- if .values.ingress.enabled }}
---
{{ include "callsheet.ingress" . }}
{{- end }}
{{- if .values.podDisruptionBudget }}
---
{{ include "callsheet.disruption" . }}
{{- end }}
{{- end -}}
