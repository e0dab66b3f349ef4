"""Automations for Prefect that go with our flows, as files: which is for what is in
`docs/prefect.md`. `python -m callsheet.deployments.automations` loads them.
"""
