"""How a record leaves its machine and is followed: publishing as a process, fetching, mirrors."""
