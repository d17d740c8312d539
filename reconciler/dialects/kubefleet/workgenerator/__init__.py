"""What bindings put onto clusters: resources as overrides leave them, in Works."""
