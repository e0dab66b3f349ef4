"""What Prefect's pages and logs show of a run. A failed update is logged; the run continues."""

from callsheet.flows.shown.artifacts import ProgressArtifact as ProgressArtifact
from callsheet.flows.shown.artifacts import publish_problems as publish_problems
from callsheet.flows.shown.run_log import Showing as Showing
from callsheet.flows.shown.tables import plan_in_words as plan_in_words
from callsheet.flows.shown.tables import publish_plan as publish_plan
from callsheet.flows.shown.tables import publish_report as publish_report
from callsheet.flows.shown.tables import table_of_rows as table_of_rows
