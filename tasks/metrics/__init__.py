"""What Callsheet tells Prometheus: the names other packages may use."""

from callsheet.tasks.metrics.exporters import publish
from callsheet.tasks.metrics.exposition import CONTENT_TYPE, METRICS, Exposition, Metric
