import { createHash } from "node:crypto";
import { RolloutError } from "../../../base/rollout-error.ts";
import { hideCredentials, showUrl } from "../show-url.ts";

/** A repository address that is safe to hand to git. */
export interface GitUrl {
  readonly raw: string;
  /** Without credentials, for people. */
  readonly shown: string;
  /** Names the repository in the cache; the same whatever credentials are used. */
  readonly key: string;
  readonly isSsh: boolean;
}

/** The schemes git may use; everything else, `ext::` above all, could run a program. */
export const gitSchemes = ["https", "http", "ssh", "git", "file"] as const;

const scpPattern = /^[\w.+-]+@[\w[\].-]+:[^:].*$/;

/** Checks a repository address; rejects with `config_invalid` what git should never see. */
export function parseGitUrl(text: string): GitUrl {
  const raw = text.trim();
  const refuse = (why: string): never => {
    throw new RolloutError("config_invalid", `the repository ${JSON.stringify(showUrl(raw))} ${why}`, {
      hint: `use ${gitSchemes.join(", ")} or user@host:path`,
    });
  };
  // oxlint-disable-next-line no-control-regex
  if (raw === "" || raw.startsWith("-") || /[\s\u0000-\u001f\u007f]/.test(raw)) refuse("is not a URL");
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(raw)?.[1]?.toLowerCase();
  if (scheme === undefined && !scpPattern.test(raw)) refuse("has no scheme");
  if (scheme !== undefined && !gitSchemes.some((known) => known === scheme)) refuse(`has the scheme "${scheme}"`);
  const host =
    scheme === undefined ? raw.slice(raw.indexOf("@") + 1) : raw.slice(raw.indexOf("//") + 2).replace(/^[^/]*@/, "");
  if (host.startsWith("-") || raw.includes("//-")) refuse("has a host that starts with a dash");
  const identity =
    scheme === "https" || scheme === "http" ? hideCredentials(raw) : raw.replace(/(:\/\/[^/@]*):[^/@]*@/, "$1@");
  return {
    raw,
    shown: showUrl(raw),
    key: createHash("sha256").update(identity).digest("hex").slice(0, 24),
    isSsh: scheme === undefined || scheme === "ssh",
  };
}

/** A path inside a repository without `.` and empty segments, `""` for its root; rejects what would leave it. */
export function parseTreePath(text: string): string {
  const refuse = (why: string): never => {
    throw new RolloutError("config_invalid", `the path ${JSON.stringify(text)} ${why}`, {
      hint: "give the task's directory relative to the root of its repository",
    });
  };
  if (text.startsWith("/") || /^[a-z]:[\\/]/i.test(text)) refuse("is absolute");
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) refuse("holds a control character");
  const segments = text.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.some((segment) => segment === ".." || segment.split("\\").includes("..")))
    refuse("leaves the repository");
  if (segments.some((segment) => segment.toLowerCase() === ".git")) refuse("is inside .git");
  return segments.join("/");
}

/** A whole commit id in lower case, or null for one that means the newest commit; rejects anything shorter or else. */
export function parseCommitId(text: string | null): string | null {
  if (text === null || text === "" || text.toLowerCase() === "head") return null;
  const id = text.toLowerCase();
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id)) return id;
  const why = /^[0-9a-f]{4,63}$/.test(id) ? "is abbreviated" : "is not a commit id";
  throw new RolloutError("config_invalid", `git_commit_id ${JSON.stringify(text)} ${why}`, {
    hint: "write all 40 characters of the commit's id, or leave it out for the newest commit",
  });
}
