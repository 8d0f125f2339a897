"""Ablations: specs expand to cells, cells run to records, records are viewed as figures and tables."""
