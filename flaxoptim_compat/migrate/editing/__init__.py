"""How text is changed: edits, import statements, whole files, and proof that nothing broke."""
