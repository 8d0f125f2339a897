"""What every model must do, whatever its config chooses; new variants and fields are found by themselves."""
