import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";

// Lost or refused connections, and transactions that conflicted with another one: the same call may succeed later.
const transientStates = /^(?:08...|57P0[123]|53300|40001|40P01|55P03)$/;
const lostConnections: readonly (string | undefined)[] = [
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
];

const hints: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password in the address",
  "28000": "check the user in the address and the server's pg_hba.conf",
  "3D000": "create the database first: createdb NAME",
  "42501": "the user in the address needs the right to create and write tables",
  "53100": "the server's disk is full: free some space; stored data is kept",
  "25006": "the server is read-only, for example a standby: use the address of the primary server",
  ECONNREFUSED: "check that the server runs, and the host and port in the address",
  ENOTFOUND: "check the host in the address",
};

/** Turns an error of the driver into a `RolloutError` without a password. */
export function postgresError(thrown: unknown, location: string, phase: "connect" | "query"): unknown {
  if (thrown instanceof RolloutError) return thrown;
  const state = systemCodeOf(thrown);
  const isLost =
    state === undefined && thrown instanceof Error && /^(Connection terminated|Client has)/.test(thrown.message);
  if (state === undefined && !isLost) return thrown;
  const transient = isLost || transientStates.test(state ?? "") || lostConnections.includes(state);
  const code = phase === "connect" ? "provider_unavailable" : "io_failed";
  const what = phase === "connect" ? "cannot be reached" : "failed";
  const text = messageOf(thrown) || state;
  return new RolloutError(code, `the store ${location} ${what}: ${text}`, {
    hint: hints[state ?? ""],
    transient,
    cause: thrown,
  });
}
