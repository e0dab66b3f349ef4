"""A second process that looks at films and writes them, while many of them come at once."""

from callsheet.tasks.store.second_process.asking import SecondProcess
