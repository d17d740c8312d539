"""FederatedResourceQuotas as files hold them: how they are read, judged and written."""
