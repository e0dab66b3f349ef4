"""Notices: what people are told of a night, and how it reaches them."""
