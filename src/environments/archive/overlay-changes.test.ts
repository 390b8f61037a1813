import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ChangeReport } from "../environment.ts";
import { listOverlayChanges, type OverlayChangesRequest } from "./overlay-changes.ts";

const { signal } = new AbortController();

type Files = Readonly<Record<string, string>>;

/** Directories as an overlay has them. What the environment sees is made by hand, so that no mount is needed. */
function makeOverlay(upper: Files, lower: Files, merged: Files = { ...lower, ...upper }): OverlayChangesRequest {
  const dir = mkdtempSync(join(tmpdir(), "rollout-overlay-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [folder, files] of Object.entries({ upper, lower, merged })) {
    mkdirSync(join(dir, folder, "app"), { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, folder, "app", name)), { recursive: true });
      writeFileSync(join(dir, folder, "app", name), content);
    }
  }
  return {
    directory: "/app",
    exclude: [],
    mounts: [{ target: "/", upper: join(dir, "upper"), lowers: [{ path: join(dir, "lower"), isPublicOnly: true }] }],
    openRoot: () => openSync(join(dir, "merged"), "r"),
    signal,
  };
}

function linesOf(report: ChangeReport | null): string[] | undefined {
  return report?.changes.map(({ kind, path, type }) => `${kind} ${path} ${type}`);
}

const placeOf = ({ mounts: [mount] }: OverlayChangesRequest, name: string): string =>
  join(mount?.upper ?? "", "app", name);

test("a file that was only touched is not listed, and one with another mode is", async () => {
  const request = makeOverlay({ touched: "same", run: "same" }, { touched: "same", run: "same" });
  utimesSync(placeOf(request, "touched"), 1, 1);
  chmodSync(placeOf(request, "run"), 0o755);
  const report = await listOverlayChanges(request);
  expect(report?.changes).toEqual([{ path: "run", kind: "changed", type: "file", size: 4, modes: [0o644, 0o755] }]);
});

test("what a directory made again hides is listed as removed", async () => {
  const request = makeOverlay({ "folder/new": "n" }, { "folder/old": "o" }, { "folder/new": "n" });
  expect(linesOf(await listOverlayChanges(request))).toEqual(["added folder/new file", "removed folder/old file"]);
});

test("links are listed and never followed", async () => {
  const request = makeOverlay({ file: "f" }, {});
  symlinkSync("/etc", placeOf(request, "out"));
  const report = await listOverlayChanges(request);
  expect(linesOf(report)).toEqual(["added file file", "added out link"]);
  expect(await report?.readAfter("out/hostname", 1e6, signal)).toBeNull();
  expect(await report?.readAfter("../../../etc/hostname", 1e6, signal)).toBeNull();
  expect(Buffer.from((await report?.readAfter("file", 1e6, signal)) ?? []).toString()).toBe("f");
});

test("a directory behind a link is not listed", async () => {
  const request = makeOverlay({}, {});
  const merged = join(request.mounts[0]?.upper ?? "", "..", "merged");
  symlinkSync("app", join(merged, "link"));
  expect(await listOverlayChanges({ ...request, directory: "/link" })).toBeNull();
  expect(await listOverlayChanges({ ...request, directory: "/link/below" })).toBeNull();
});

test("an original that not everybody may read is not read", async () => {
  const request = makeOverlay({ open: "new", secret: "new" }, { open: "old!", secret: "old!" });
  chmodSync(join(request.mounts[0]?.lowers[0]?.path ?? "", "app/secret"), 0o600);
  const report = await listOverlayChanges(request);
  expect(Buffer.from((await report?.readBefore?.("open", 100, signal)) ?? []).toString()).toBe("old!");
  expect(await report?.readBefore?.("secret", 100, signal)).toBeNull();
});

test("stops after ten thousand entries and says so", async () => {
  const files = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`${n % 100}/${n}`, ""]));
  const report = await listOverlayChanges(makeOverlay(files, {}, {}));
  expect(report).toMatchObject({ isCut: true });
  expect(report?.changes).toHaveLength(10_000);
});
