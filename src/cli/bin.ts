#!/usr/bin/env node
// The package's command. It must parse on an old Node, so that its user learns what to install.
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

declare const __ROLLOUT_VERSION__: string;

const argument = process.argv.length === 3 ? process.argv[2] : undefined;
if (argument === "--version" || argument === "-V") {
  process.stdout.write(`${__ROLLOUT_VERSION__}\n`);
} else if (!isNewEnough(process.versions.node)) {
  process.stderr.write(
    `rollout needs Node >= 24.11; this is Node ${process.versions.node}. Install a newer one and try again.\n`,
  );
  process.exitCode = 2;
} else {
  enableCompileCache();
  const { main } = await import("./main.ts");
  const exitCode = await main(process, __ROLLOUT_VERSION__, fileURLToPath(new URL("..", import.meta.url)));
  await Promise.all([process.stdout, process.stderr].map(flush));
  // An engine that does not answer may still hold a socket or a timer, and nobody waits for it any more.
  process.exit(exitCode);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 11);
}
