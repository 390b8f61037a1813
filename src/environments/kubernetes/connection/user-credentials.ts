import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { CredentialSource, Credentials } from "./cluster-endpoint.ts";
import { execCredentials } from "./exec-credentials.ts";
import type { KubeConfigUser } from "./kube-config-schema.ts";

// A token that the cluster rotates is written anew long before the old one ends.
const tokenFileMs = 60_000;

/** Credentials as a user of a kubeconfig has them; paths are relative to the directory. */
export function userCredentials(
  user: KubeConfigUser,
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): CredentialSource {
  if (user.exec !== undefined) {
    const { command, args, env: own, apiVersion, installHint } = user.exec;
    const program = {
      command: command.includes("/") ? resolve(directory, command) : command,
      args: args ?? [],
      env: Object.fromEntries((own ?? []).map(({ name, value }) => [name, value])),
      apiVersion: apiVersion ?? "client.authentication.k8s.io/v1",
      hint: installHint,
    };
    return execCredentials(program, env, clock);
  }
  if (user.tokenFile !== undefined) return tokenFileCredentials(resolve(directory, user.tokenFile), clock);
  const fileOr = async (data: string | undefined, file: string | undefined): Promise<Buffer | null> =>
    data ? Buffer.from(data, "base64") : file ? readFile(resolve(directory, file)) : null;
  const read = async (): Promise<Credentials> => ({
    token: user.token ?? null,
    cert: await fileOr(user["client-certificate-data"], user["client-certificate"]),
    key: await fileOr(user["client-key-data"], user["client-key"]),
  });
  let held: Promise<Credentials> | null = null;
  return { get: () => (held ??= read()), forget: () => void (held = null) };
}

/** A token that lies in a file and is rotated there. */
export function tokenFileCredentials(path: string, clock: Clock): CredentialSource {
  let held: { readonly token: Promise<string>; readonly untilMs: number } | null = null;
  return {
    async get() {
      if (held === null || clock.monotonic() >= held.untilMs) {
        held = { token: readFile(path, "utf8"), untilMs: clock.monotonic() + tokenFileMs };
      }
      return { token: (await held.token).trim(), cert: null, key: null };
    },
    forget: () => void (held = null),
  };
}
