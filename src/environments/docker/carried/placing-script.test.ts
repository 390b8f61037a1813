import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { planPlacements } from "../../archive/plan-placements.ts";
import type { Placement } from "../../environment.ts";
import { holdPlacements } from "./held-placement.ts";
import { planPlacingScript } from "./placing-script.ts";

const never = new AbortController().signal;
const tools = new Map(["rm", "mkdir", "ln", "chmod", "chown"].map((name) => [`/usr/bin/${name}`, "there"]));
const file = (content: string | Uint8Array, mode = 0o644): Placement => ({
  kind: "file",
  target: "/tmp/it's",
  content,
  mode,
});

async function plan(
  items: readonly Placement[],
  { mounted = [] as string[], has = tools } = {},
): Promise<string | null> {
  const held = await holdPlacements(items, never);
  return held && planPlacingScript(planPlacements(held, new Set(mounted)), has);
}

test("what is in the way is removed before parents, directories, files, links and modes are made", async () => {
  const room = await mkdtemp(join(tmpdir(), "rollout-script-"));
  onTestFinished(() => rm(room, { recursive: true }));
  await mkdir(join(room, "sub"));
  await writeFile(join(room, "sub", "run.sh"), "echo 'x'\n");
  await chmod(join(room, "sub", "run.sh"), 0o755);
  await chmod(join(room, "sub"), 0o750);
  await chmod(room, 0o750);
  await symlink("sub", join(room, "way"));
  const owner = process.getuid?.() === 0 ? [] : [expect.stringMatching(/^\/usr\/bin\/chown -h \d+:\d+ -- /)];
  const lines = (
    await plan([
      { kind: "tree", source: room, target: "/a/tree/" },
      { kind: "directory", target: "/logs" },
      { kind: "remove", target: "/old" },
      { kind: "link", target: "/solution", to: "/a/tree" },
    ])
  )?.split(" &&\n");
  expect(lines).toEqual([
    "/usr/bin/rm -rf -- '/a/tree' '/logs' '/old' '/solution'",
    "/usr/bin/mkdir -p -- '/a'",
    "/usr/bin/mkdir -m 750 -- '/a/tree' '/a/tree/sub'",
    "/usr/bin/mkdir -m 777 -- '/logs'",
    "printf %s 'echo '\\''x'\\''\n' >'/a/tree/sub/run.sh'",
    "/usr/bin/ln -s -- 'sub' '/a/tree/way'",
    "/usr/bin/ln -s -- '/a/tree' '/solution'",
    ...owner,
    "/usr/bin/chmod 755 -- '/a/tree/sub/run.sh'",
  ]);
});

test("what lies in something else is placed behind it", async () => {
  const script = await plan([{ kind: "directory", target: "/tmp" }, file("x")]);
  expect(script?.indexOf("mkdir -m 777 -- '/tmp'")).toBeLessThan(script?.indexOf("printf") ?? -1);
});

test("an image without one of the tools, and a mount point, take the engine", async () => {
  expect(await plan([file("x")], { has: new Map([["/bin/rm", "there"]]) })).toBeNull();
  expect(await plan([{ kind: "directory", target: "/data" }], { mounted: ["/data"] })).toBeNull();
});

test("bytes that are no plain text, and too many of them, take the engine", async () => {
  for (const content of [Buffer.from([0xff]), "a\0b", "\u0001", "\u007f", "x".repeat(33 * 1024)])
    expect(await plan([file(content)])).toBeNull();
  const manyQuotes = Array.from({ length: 4 }, (_, index) => ({ ...file("'".repeat(8000)), target: `/f${index}` }));
  expect(await plan(manyQuotes)).toBeNull();
});

test("what is held does not need its source any more", async () => {
  const room = await mkdtemp(join(tmpdir(), "rollout-script-"));
  await writeFile(join(room, "text"), "kept");
  const held = await holdPlacements([{ kind: "tree", source: room, target: "/kept" }], never);
  await rm(room, { recursive: true });
  expect(planPlacingScript(planPlacements(held ?? [], new Set()), tools)).toContain("printf %s 'kept' >'/kept/text'");
});
