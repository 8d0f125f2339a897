"""What each ablation asks: one spec a file."""
