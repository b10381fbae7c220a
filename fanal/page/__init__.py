"""What people see: a page, a site, a report and a card, all derived from a record and nothing else."""
