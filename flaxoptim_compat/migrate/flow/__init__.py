"""Where the values that matter to optimizers flow: through variables, calls, fields and files."""
