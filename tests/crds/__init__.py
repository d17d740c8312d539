"""Our schemas and rules held against upstream's CRDs; `make schemas CRDS=FOLDER` runs it.

`reader.py` takes the facts from a folder of CRDs, `tables.py` keeps them in `fixtures/`,
`schema_facts.py` takes the same facts from our schemas, `compare.py` lists the differences, and
`reasons.py` says which of them are meant. `rules.py` names our function for each CEL rule.
"""
