"""Is everything here as Callsheet needs it? Changes nothing but what it says it tried."""
