import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "pg";

/** The variable that names a PostgreSQL server in which the tests may make databases. */
export const postgresVariable = "ROLLOUT_TEST_POSTGRES_URL";

const startLimitMs = 60_000;

interface Ids {
  readonly uid?: number;
  readonly gid?: number;
}

/** A PostgreSQL server with files of its own, on a socket that nobody else knows. */
export interface PrivatePostgres extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Ends it at once, as a crash would, and starts it again. */
  restart(): Promise<void>;
}

/** Where the programs of PostgreSQL are; null when they are not installed. */
export function findPostgres(): string | null {
  const found = globSync("/usr/lib/postgresql/*/bin/initdb").sort().at(-1) ?? globSync("/usr/{local/,}bin/initdb")[0];
  return found === undefined ? null : found.slice(0, -"/initdb".length);
}

/** Why this machine cannot run one; null when it can. */
export function whyNoPostgres(): string | null {
  if (findPostgres() === null) return "PostgreSQL is not installed";
  return process.getuid?.() === 0 && userIds() === null ? "there is no user but root to run PostgreSQL" : null;
}

/** Starts a server that is gone with all its data when it is disposed. */
export async function openPrivatePostgres(): Promise<PrivatePostgres> {
  const programs = findPostgres();
  const ids: Ids | null = process.getuid?.() === 0 ? userIds() : {};
  if (programs === null || ids === null) throw new Error(whyNoPostgres() ?? "");
  const directory = mkdtempSync(join(tmpdir(), "rollout-pg-"));
  if (ids.uid !== undefined && ids.gid !== undefined) chownSync(directory, ids.uid, ids.gid);
  const data = join(directory, "data");
  // Sorted by a language's rules, as most servers do, so that what needs the order of bytes has to say so.
  const looks = ["-E", "UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  const words = ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", ...looks];
  const made = spawnSync(join(programs, "initdb"), words, { ...ids, cwd: directory, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(directory)}`;
  const start = (): Promise<ChildProcess> => startServer(join(programs, "postgres"), directory, url, ids);
  let server = await start();
  return {
    url,
    get pid() {
      return server.pid ?? 0;
    },
    async restart() {
      await stop(server, "SIGQUIT");
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      await stop(server, "SIGINT");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startServer(program: string, directory: string, url: string, ids: Ids): Promise<ChildProcess> {
  const logFile = join(directory, "log");
  const log = openSync(logFile, "a");
  const settings = ["listen_addresses=", "max_connections=60", "fsync=off"].flatMap((setting) => ["-c", setting]);
  const args = ["-D", join(directory, "data"), "-k", directory, ...settings];
  const child = spawn(program, args, { ...ids, cwd: directory, stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  child.unref();
  child.on("error", () => {});
  for (let waitedMs = 0; waitedMs < startLimitMs && child.exitCode === null; waitedMs += 100) {
    if (await answers(url)) return child;
    await setTimeout(100);
  }
  child.kill();
  throw new Error(`PostgreSQL did not start: ${readFileSync(logFile, "utf8").trim().split("\n").at(-1) ?? ""}`);
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function stop(server: ChildProcess, signal: "SIGINT" | "SIGQUIT"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.ref();
  const ended = once(server, "exit");
  server.kill(signal);
  await ended;
}

// PostgreSQL refuses to run as root.
function userIds(): Ids | null {
  const users = new Map(
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"))
      .map(([name = "", , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  return users.get("postgres") ?? users.get("nobody") ?? null;
}
