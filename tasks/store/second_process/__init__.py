"""A second process that looks at films and writes them, while many of them come at once."""

from tasks.store.second_process.asking import SecondProcess
