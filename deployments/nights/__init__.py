"""The verbs of `callsheet nights`."""
