import { execFile } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { makeRoom } from "../providers/docker/engine-room.ts";

const run = promisify(execFile);
const program = join(import.meta.dirname, "../providers/docker/run-copies.ts");
const bigBytes = 2 * 2 ** 30 + 1;
const mostKilobytes = 250_000;

interface Copied {
  readonly files: number;
  readonly bytes: number;
  readonly refused: readonly unknown[];
  readonly inside: string;
  readonly peakKilobytes: number;
}

async function copyMuch(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Copied> {
  const { stdout } = await run(process.execPath, [program, ...args], { env: { ...process.env, ...env } });
  const copied = JSON.parse(stdout) as Copied;
  console.log(`peak memory ${Math.round(copied.peakKilobytes / 1024)} MiB`);
  return copied;
}

for (const { name, env, reason } of await findEngines()) {
  const users =
    name === "docker" ? { "beside the engine": "0", "by archives alone": "1" } : { "by archives alone": "0" };
  describe.for(Object.entries(users))(`copies into a container of ${name} and back, %s,`, ([, uid]) => {
    test("of 10,000 small files are not held in memory", async (context) => {
      if (reason !== null) cannotRun(context, reason);
      const source = await makeRoom();
      for (let folder = 0; folder < 100; folder++) {
        mkdirSync(join(source, `folder-${folder}`));
        for (let file = 0; file < 100; file++) writeFileSync(join(source, `folder-${folder}`, `file-${file}`), "small");
      }
      const target = join(await makeRoom(), "back");
      const copied = await copyMuch(env, source, target, uid, "find /much -type f -size 5c | wc -l");
      expect(copied).toMatchObject({ files: 10_000, bytes: 50_000, refused: [], inside: "10000" });
      expect(copied.peakKilobytes).toBeLessThan(mostKilobytes);
    });

    test("of a file of 2 GiB are not held in memory", async (context) => {
      if (reason !== null) cannotRun(context, reason);
      const source = await makeRoom();
      writeFileSync(join(source, "big"), "");
      truncateSync(join(source, "big"), bigBytes);
      const target = join(await makeRoom(), "back");
      const copied = await copyMuch(env, source, target, uid, "stat -c %s /much/big");
      expect(copied).toMatchObject({ files: 1, bytes: bigBytes, refused: [], inside: String(bigBytes) });
      expect(copied.peakKilobytes).toBeLessThan(mostKilobytes);
    });
  });
}
