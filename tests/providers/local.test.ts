import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import { createRedactor } from "../../src/base/redactor.ts";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import { localProviderModule } from "../../src/environments/local/local-provider.ts";

const cacheDir = mkdtempSync(join(tmpdir(), "rollout-local-"));
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

const never = new AbortController().signal;
function openLocal(config: Record<string, unknown> = {}) {
  return localProviderModule.open({
    config,
    baseDir: cacheDir,
    timeoutMultiplier: 1,
    host: { ...readHost(process), cacheDir },
    clock: systemClock,
    redactor: createRedactor([]),
    log: silentLog,
    signal: never,
  });
}

const { capabilities } = await openLocal();

describe("the local provider keeps the contract", () => {
  beforeAll(async () => {
    await using provider = await openLocal();
    await provider.probe(never);
  });
  for (const scratch of ["/scratch", "/logs/scratch"]) {
    describe(`with files in ${scratch}`, () => {
      for (const entry of conformanceCases) {
        test(entry.title, async (context) => {
          const missing = missingNeeds(entry, capabilities);
          if (missing.length > 0) context.skip(`needs ${missing.join(", ")}`);
          const open = async () => ({ provider: await openLocal(), scratch });
          await runConformanceCase(entry, { open, signal: context.signal });
        });
      }
    });
  }
});
