"""Nights: sheets that lie in an inbox are made into films while everybody sleeps."""
