import { readGitState } from "../base/git-state.ts";
import type { Host } from "../base/host.ts";
import type { RunOrigin } from "../store/run.ts";

declare const __ROLLOUT_VERSION__: string;

const origins = new Map<string, Promise<RunOrigin>>();

/** Reads where a run of the library comes from. The git state of a directory is read once per process. */
export async function readOrigin({ cwd, env }: Host): Promise<RunOrigin> {
  let origin = origins.get(cwd);
  if (origin === undefined) origins.set(cwd, (origin = read(cwd, env)));
  return await origin;
}

async function read(cwd: string, env: Host["env"]): Promise<RunOrigin> {
  const rolloutVersion = typeof __ROLLOUT_VERSION__ === "string" ? __ROLLOUT_VERSION__ : "0.0.0";
  return { description: null, tags: {}, git: await readGitState(cwd, env), rolloutVersion };
}
