"""What a video request is: briefs, bodies, the catalog, amounts. Plain values."""
