import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { cannotRun, root } from "../e2e/rollout-cli.ts";

const nobody = { uid: 65_534, gid: 65_534 };
const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/;

/** Copies what a clone would hold to a directory of an ordinary user. */
async function makeCheckout(context: TestContext): Promise<{ home: string; checkout: string; cache: string }> {
  if (process.getuid?.() !== 0) cannotRun(context, "only root can become another, ordinary user");
  const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  if (listed.status !== 0) cannotRun(context, "this is not a git checkout, so what a clone would hold is not known");
  const dir = await mkdtemp(join(tmpdir(), "rollout-fresh-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const places = { home: join(dir, "home"), checkout: join(dir, "check out"), cache: join(dir, "npm") };
  for (const place of Object.values(places)) await mkdir(place);
  for (const file of listed.stdout.split("\0")) {
    if (file === "" || !existsSync(join(root, file))) continue;
    await mkdir(dirname(join(places.checkout, file)), { recursive: true });
    await cp(join(root, file), join(places.checkout, file));
  }
  // What this machine has fetched before need not be fetched again.
  const ownCache = join(npm("config", "get", "cache"), "_cacache");
  if (existsSync(ownCache)) await cp(ownCache, join(places.cache, "_cacache"), { recursive: true });
  execFileSync("chown", ["-R", `${nobody.uid}:${nobody.gid}`, dir]);
  await chown(dir, nobody.uid, nobody.gid);
  return places;
}

function npm(...args: string[]): string {
  return execFileSync("npm", args, { encoding: "utf8", stdio: "pipe" }).trim();
}

test("an ordinary user sets a fresh checkout up, and its launcher works from anywhere", async (context) => {
  const { home, checkout, cache } = await makeCheckout(context);
  const keep = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
  ];
  const env = {
    ...Object.fromEntries(keep.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    PATH: process.env["PATH"],
    HOME: home,
    npm_config_cache: cache,
    npm_config_prefer_offline: "true",
    npm_config_registry: npm("config", "get", "registry"),
  };
  const run = (cwd: string, program: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { ...nobody, cwd, env, encoding: "utf8" });
    return { status, stdout, stderr };
  };

  const setup = run(checkout, "npm", "run", "setup");
  if (setup.status !== 0 && unreachable.test(setup.stderr))
    cannotRun(context, "the registry cannot be reached from here and not everything was fetched before");
  expect(setup).toMatchObject({ status: 0, stderr: expect.stringContaining("setup: ready") });

  const launcher = join(checkout, "bin", "rollout");
  expect(run(home, launcher, "--version")).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: "",
  });
  const job = join(checkout, "examples/first-job/job.yaml");
  expect(run(home, launcher, job, "--name", "first", "--quiet")).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(existsSync(join(home, "jobs/first/result.json"))).toBe(true);

  const again = run(checkout, "npm", "run", "setup");
  expect(again.status).toBe(0);
  expect(again.stderr).not.toContain("fetching");
  expect(again.stderr).not.toContain("installing");
});
