"""Nights: sheets that lie in an inbox are made into videos while everybody sleeps."""
