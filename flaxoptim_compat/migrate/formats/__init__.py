"""A report as text, as JSON, as annotations of GitHub, and as SARIF."""
