"""What Prefect's pages and logs show of a run. Never in its way: what Prefect does not take is told
in the log, and the run goes on."""

from flows.shown.plan import plan_in_words as plan_in_words
from flows.shown.plan import publish_plan as publish_plan
from flows.shown.problems import publish_problems as publish_problems
from flows.shown.progress import ProgressArtifact as ProgressArtifact
from flows.shown.report import publish_report as publish_report
from flows.shown.report import table_of_rows as table_of_rows
from flows.shown.run_log import showing as showing
