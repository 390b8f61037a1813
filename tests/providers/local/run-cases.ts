// Runs the conformance suite on the local provider and prints a line of JSON for each case; started as an ordinary user.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missingNeeds } from "../../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../../src/environments/conformance/run-conformance-case.ts";
import { openLocal } from "./open-local.ts";

const cacheDir = mkdtempSync(join(tmpdir(), "rollout-local-user-"));
const { signal } = new AbortController();
const open = async () => ({ provider: await openLocal(cacheDir), scratch: "/scratch" });

{
  await using provider = await openLocal(cacheDir);
  await provider.probe(signal);
  for (const entry of conformanceCases) {
    const missing = missingNeeds(entry, provider.capabilities);
    let error: string | null = null;
    if (missing.length === 0) {
      await runConformanceCase(entry, { open, signal }).catch((thrown: unknown) => {
        error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      });
    }
    console.log(JSON.stringify({ title: entry.title, missing, error }));
  }
}
rmSync(cacheDir, { recursive: true, force: true });
