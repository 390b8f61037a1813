// Runs one benchmark by name, or all: npm run bench [name]
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { basename } from "node:path";

const known = globSync("bench/*.bench.ts").map((file) => basename(file, ".bench.ts"));
const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : known) {
  const file = `bench/${name}.bench.ts`;
  if (!existsSync(file)) {
    console.error(`there is no benchmark "${name}"; known: ${known.join(", ")}`);
    process.exit(2);
  }
  const { status } = spawnSync(process.execPath, ["--expose-gc", file], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
