import { gitSchemes } from "./git-url.ts";

/** Settings that keep hooks, background work, submodules and conversions of the user's own out of our repositories. */
export const gitSettings: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.autocrlf=false",
  "core.symlinks=true",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "credential.interactive=false",
  "advice.detachedHead=false",
  "filter.lfs.smudge=",
  "filter.lfs.process=",
  "filter.lfs.required=false",
].flatMap((setting) => ["-c", setting]);

// Set by a git that called us, these would send our calls to its repository.
const keptGitVariables = /^GIT_(?:SSL_|SSH|HTTP_|PROXY_|CURL_|EXEC_PATH$|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)$)/;

/** The environment of a git that never asks anybody anything and speaks English. */
export function buildGitEnv(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (!name.startsWith("GIT_") || keptGitVariables.test(name))) kept[name] = value;
  }
  return {
    ...kept,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    // Empty but set: git then looks for no other program that asks.
    GIT_ASKPASS: "",
    SSH_ASKPASS_REQUIRE: "never",
    GCM_INTERACTIVE: "never",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_ALLOW_PROTOCOL: gitSchemes.join(":"),
  };
}
