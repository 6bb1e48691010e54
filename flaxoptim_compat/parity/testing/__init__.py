"""What tests of other projects use: assertions, baselines, and the plugin of pytest."""
