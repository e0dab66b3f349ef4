"""What Callsheet tells Prometheus: the names other packages may use."""

from tasks.metrics.exposition import CONTENT_TYPE, Exposition
from tasks.metrics.listed import METRICS, Metric
from tasks.metrics.outlets import publish
