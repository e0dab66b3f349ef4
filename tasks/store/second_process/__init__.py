"""A second process that looks at videos and writes them, while many of them come at once."""

from callsheet.tasks.store.second_process.asking import SecondProcess
