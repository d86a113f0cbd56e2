"""Every implementation against the models and against `cryptography`: cases, layouts, findings."""
