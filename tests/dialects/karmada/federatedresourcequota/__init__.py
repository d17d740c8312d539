"""Tests of FederatedResourceQuotas."""
