{{/* A work pool of Prefect's type `kubernetes`: what stands in doubled brackets is for its worker. */}}
{{- define "callsheet.baseJobTemplate" -}}
job_configuration:
  name: "{{ "{{ name }}" }}"
  command: "{{ "{{ command }}" }}"
  env: "{{ "{{ env }}" }}"
  labels: "{{ "{{ labels }}" }}"
  namespace: "{{ "{{ namespace }}" }}"
  stream_output: "{{ "{{ stream_output }}" }}"
  # A run takes the time it takes; a pod, until its image is there.
  job_watch_timeout_seconds: null
  pod_watch_timeout_seconds: {{ .Values.jobs.startSeconds }}
  job_manifest:
    apiVersion: batch/v1
    kind: Job
    metadata:
      labels: "{{ "{{ labels }}" }}"
      namespace: "{{ "{{ namespace }}" }}"
      generateName: "{{ "{{ name }}" }}-"
    spec:
      # A run that ended goes on from the ledger when Prefect starts it again: Kubernetes does not.
      backoffLimit: 0
      ttlSecondsAfterFinished: {{ .Values.jobs.ttlSecondsAfterFinished }}
      template:
        metadata:
          labels: {{- include "callsheet.labels" . | nindent 12 }}
            app.kubernetes.io/component: run
            {{- with .Values.podLabels }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          annotations:
            # A node that is only hardly used waits for the end of the run.
            cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
            {{- with .Values.podAnnotations }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        spec:
          # Prefect's worker wants these two here, where Kubernetes does not know them.
          parallelism: 1
          completions: 1
          restartPolicy: Never
          serviceAccountName: {{ include "callsheet.serviceAccount" . }}
          # A run that is told to stop begins nothing more and writes down what is under way.
          terminationGracePeriodSeconds: {{ .Values.jobs.terminationGracePeriodSeconds }}
          containers:
            - name: prefect-job
              args: "{{ "{{ command }}" }}"
              workingDir: "{{ "{{ working_dir }}" }}"
              env:
                {{- include "callsheet.environment" . | nindent 16 }}
                {{- include "callsheet.prefectEnvironment" . | nindent 16 }}
              lifecycle:
                preStop:
                  exec:
                    # A run that has only just started does not hear the signal yet.
                    command: [sleep, {{ .Values.jobs.preStopSeconds | quote }}]
              resources: {{- toYaml .Values.jobs.resources | nindent 16 }}
              {{- include "callsheet.container" . | nindent 14 }}
          {{- include "callsheet.pod" (dict "context" . "spool" .Values.jobs.spool "component" "run") | nindent 10 }}
variables:
  type: object
  properties:
    name: {type: string, description: Name of the job.}
    # The same Python as in the pod that deploys.
    command: {type: string, description: What a flow run is started by.}
    env:
      type: object
      description: More environment variables.
      additionalProperties: {type: string}
      default: {PYTHONSAFEPATH: "1"}
    labels:
      type: object
      additionalProperties: {type: string}
      default: {}
    namespace: {type: string, description: Where jobs are made., default: {{ .Release.Namespace }}}
    stream_output: {type: boolean, default: true}
    working_dir:
      type: string
      description: The folder that sheets and the ledger are meant from.
      default: /srv/callsheet
{{- end -}}
