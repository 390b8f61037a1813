// The long proofs: seeded, minutes to hours, run by hand; their figures are for the record.
process.argv.push("--long");
await import("./test.ts");
