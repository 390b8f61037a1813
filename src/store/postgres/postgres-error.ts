import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";

// Lost or refused connections and transactions that lost against another one: the same call may succeed later.
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
  "28P01": "look at the user and the password in the address",
  "28000": "look at the user in the address, and at the server's pg_hba.conf",
  "3D000": "make the database first: createdb NAME",
  "42501": "the user of the address needs the right to create tables and to write to them",
  "53100": "the server's disk is full; make room; what was written before is kept",
  "25006": "the server is read-only, a standby for one; name the one that is written to",
  ECONNREFUSED: "look whether the server runs, and at host and port of the address",
  ENOTFOUND: "look at the host of the address",
};

/** What the driver threw, in the words of the house and without a password. */
export function postgresError(thrown: unknown, location: string, phase: "connect" | "query"): unknown {
  if (thrown instanceof RolloutError) return thrown;
  const state = systemCodeOf(thrown);
  const isLost =
    state === undefined && thrown instanceof Error && /^(Connection terminated|Client has)/.test(thrown.message);
  if (state === undefined && !isLost) return thrown;
  const transient = isLost || transientStates.test(state ?? "") || lostConnections.includes(state);
  const code = phase === "connect" ? "provider_unavailable" : "io_failed";
  const what = phase === "connect" ? "cannot be reached" : "does not work";
  const text = messageOf(thrown) || state;
  return new RolloutError(code, `the store ${location} ${what}: ${text}`, {
    hint: hints[state ?? ""],
    transient,
    cause: thrown,
  });
}
