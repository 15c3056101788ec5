// Prints the peak of the memory of a process at its end, for the bench of license import.
process.on('exit', () => console.error(`peak memory ${process.resourceUsage().maxRSS} KiB`));
