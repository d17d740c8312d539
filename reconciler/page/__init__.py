"""The page: what the audit answers, as views for people to look at; pure, templates included."""
