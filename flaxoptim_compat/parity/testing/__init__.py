"""Support for tests of other projects: assertions, baselines, and the plugin of pytest."""
