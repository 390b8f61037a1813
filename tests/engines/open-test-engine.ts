import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { openEngine, type Engine } from "../../src/environments/docker/connection/open-engine.ts";

/** The engine that the given variables lead to. */
export function openTestEngine(env: Readonly<Record<string, string>>): Promise<Engine> {
  const host = readHost(process);
  return openEngine({
    host: { ...host, env: { ...host.env, ...env } },
    clock: systemClock,
    timeoutMultiplier: 1,
    signal: new AbortController().signal,
  });
}
