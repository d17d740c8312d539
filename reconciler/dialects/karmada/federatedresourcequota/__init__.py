"""What FederatedResourceQuotas limit, what is used of it, and what a decision may not exceed."""
