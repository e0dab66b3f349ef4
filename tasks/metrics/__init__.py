"""What Callsheet tells Prometheus: the names other packages may use."""

from callsheet.tasks.metrics.exposition import CONTENT_TYPE, Exposition
from callsheet.tasks.metrics.listed import METRICS, Metric
from callsheet.tasks.metrics.outlets import publish
