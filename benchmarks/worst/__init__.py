"""Files and fields that are as bad as can be, and room that everyone asks for."""
