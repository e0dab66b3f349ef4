"""Long tests of what must never break: kills at every crash point, and what others add."""
