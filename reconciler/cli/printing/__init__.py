"""How answers are put for people and for machines."""
