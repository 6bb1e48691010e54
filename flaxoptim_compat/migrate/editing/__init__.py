"""Changes of text: edits, import statements, whole files, and proof that nothing broke."""
