"""What many roots cost by workers of a Dask cluster."""
