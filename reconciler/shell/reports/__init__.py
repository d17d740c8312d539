"""What others are told: forges, webhooks, Prometheus."""
