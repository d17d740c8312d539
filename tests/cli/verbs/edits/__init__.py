"""Verbs that edit what people wrote, as users meet them."""
