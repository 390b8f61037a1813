import { RolloutError } from "../../base/rollout-error.ts";
import type { CommandUser } from "./command-words.ts";

/** A user of an environment with the home it has there. */
export interface ResolvedUser {
  /** Null for root. */
  readonly user: CommandUser | null;
  readonly home: string;
}

/** Finds a user as an image names it (`name`, `uid`, `name:group`, `uid:gid`) in the texts of passwd and group. */
export function resolveUser(given: string, passwd: string, group: string): ResolvedUser {
  const [name = "", groupName] = given.split(":");
  const users = passwd.split("\n").map((line) => line.split(":"));
  const found = users.find((fields) => fields[0] === name) ?? users.find((fields) => fields[2] === name);
  const groups = group.split("\n").map((line) => line.split(":"));
  const uid = found ? Number(found[2]) : toId(name, "user", given);
  let gid = found ? Number(found[3]) : 0;
  if (groupName !== undefined && groupName !== "") {
    const match = groups.find((fields) => fields[0] === groupName);
    gid = match ? Number(match[2]) : toId(groupName, "group", given);
  }
  const isMember = (fields: readonly string[]): boolean => (fields[3] ?? "").split(",").includes(found?.[0] ?? "\0");
  const others = groupName === undefined ? groups.filter(isMember).map((fields) => Number(fields[2])) : [];
  const home = found?.[5] || "/";
  if (uid === 0 && gid === 0) return { user: null, home: home === "/" ? "/root" : home };
  return { user: { uid, gid, groups: [...new Set([gid, ...others])] }, home };
}

function toId(text: string, what: string, given: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new RolloutError(
    "exec_failed",
    `the environment has no ${what} ${JSON.stringify(text)} (of ${JSON.stringify(given)})`,
  );
}
