import { test } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findPeers, type Peers } from "./find-peers.ts";

// No test tells anybody's servers that it ran.
process.env["MASTRA_TELEMETRY_DISABLED"] = "1";

const found = await findPeers(import.meta.dirname);

/** A test that needs the libraries of this folder, and says so where they are not installed. */
export function peerTest(title: string, run: (peers: Peers) => Promise<void>): void {
  test(title, async (context) => {
    if (found === null) cannotRun(context, "the peers are not installed; `CI=true npm test` installs them");
    await run(found);
  });
}
