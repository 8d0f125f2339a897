"""How each ablation is shown: one module a figure and table."""
