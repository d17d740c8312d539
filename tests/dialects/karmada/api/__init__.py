"""The values of the API, and what is kept of reports."""
