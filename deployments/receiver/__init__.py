"""What listens: the receiver of webhooks."""
