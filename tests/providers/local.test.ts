import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingNeeds, type ConformanceCase } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import { bundleForUser, whyNoOrdinaryUser } from "./local/as-ordinary-user.ts";
import { openLocal } from "./local/open-local.ts";
import { whyNoLocal } from "./local/why-no-local.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";

const cacheDir = mkdtempSync(join(tmpdir(), "rollout-local-"));
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

const never = new AbortController().signal;
const reason = await whyNoLocal(cacheDir);

interface Round {
  readonly title: string;
  readonly scratch: string;
  readonly config: Record<string, unknown>;
  readonly applies: (entry: ConformanceCase) => boolean;
}

const words = /place|cop(y|ied)|file|link|remov|frozen/;
// No snapshot holds what is in a volume of trials or in memory.
const touchesFiles = ({ title, needs }: ConformanceCase): boolean => words.test(title) && !needs.includes("snapshots");
const rounds: readonly Round[] = [
  { title: "anywhere", scratch: "/scratch", config: {}, applies: () => true },
  { title: "in a volume", scratch: "/logs/scratch", config: {}, applies: touchesFiles },
  {
    title: "with a disk in memory",
    scratch: "/scratch",
    config: { storage: "memory" },
    applies: (entry) => touchesFiles(entry) || entry.needs.includes("limits.storage"),
  },
];

for (const { title, scratch, config, applies } of rounds) {
  describe(`the local provider keeps the contract ${title}`, async () => {
    const { capabilities } = await openLocal(cacheDir, config);
    for (const entry of conformanceCases.filter(applies)) {
      const missing = missingNeeds(entry, capabilities);
      test(entry.title, async (context) => {
        if (reason !== null) cannotRun(context, reason);
        if (missing.length > 0) cannotRun(context, `needs ${missing.join(", ")}`);
        const open = async () => ({ provider: await openLocal(cacheDir, config), scratch });
        await runConformanceCase(entry, { open, signal: context.signal });
      });
    }
    test("an environment whose network is taken has a loopback device and nothing else", async (context) => {
      if (reason !== null) cannotRun(context, reason);
      await using provider = await openLocal(cacheDir, config);
      const image = "base";
      const limits = { cpus: 1, memoryBytes: 2 ** 29, storageBytes: 2 ** 30 };
      const request = { image, name: "network", limits, place: [], labels: {}, signal: never };
      const environment = await provider.createEnvironment(request);
      await environment.setNetwork("none", never);
      const chunks: Uint8Array[] = [];
      const stdout = { write: (chunk: Uint8Array) => void chunks.push(Buffer.from(chunk)) };
      const command = ["bash", "-c", "awk 'NR>2{print $1}' /proc/net/dev; (exec 3<>/dev/tcp/127.0.0.1/9) 2>&1"];
      await environment.exec({ command, env: {}, stdout, stderr: stdout, signal: never });
      await environment.destroy(never);
      const said = Buffer.concat(chunks).toString("utf8");
      expect(said.match(/^\w+:$/gm)).toEqual(["lo:"]);
      expect(said).toContain("refused");
    });
  });
}

describe("the local provider of an ordinary user keeps the contract", () => {
  const results = new Map<string, { readonly missing: readonly string[]; readonly error: string | null }>();
  const noUser = reason ?? whyNoOrdinaryUser();
  beforeAll(async () => {
    if (noUser !== null) return;
    using program = await bundleForUser(join(import.meta.dirname, "local", "run-cases.ts"));
    for (const line of (await program.run()).trim().split("\n")) {
      const { title, ...result } = JSON.parse(line) as { title: string; missing: string[]; error: string | null };
      results.set(title, result);
    }
  }, 300_000);

  for (const { title } of conformanceCases) {
    test(title, (context) => {
      if (noUser !== null) cannotRun(context, noUser);
      const result = results.get(title);
      if (result && result.missing.length > 0) cannotRun(context, `needs ${result.missing.join(", ")}`);
      expect(result).toEqual({ missing: [], error: null });
    });
  }
});
