"""The verbs of `callsheet nights`: the looking after of nights, each in a file of its own."""
