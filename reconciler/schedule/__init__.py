"""Scheduling without any API in it: sets of clusters, filters and scores, replica division."""
