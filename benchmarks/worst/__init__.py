"""Files and fields that are as bad as can be."""
