"""The report: records and evidence, set into ``report.md``; verdicts are made here, and nothing else."""
