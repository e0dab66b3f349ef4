"""Nightly runs: they turn the sheets of an inbox into videos on a schedule."""
