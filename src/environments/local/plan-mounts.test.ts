import { expect, test } from "vitest";
import type { BaseSystem } from "./base-system.ts";
import { planMounts, renderMountTable, type MountRequest } from "./plan-mounts.ts";

const base: BaseSystem = {
  kind: "host",
  description: "a host",
  key: "k",
  overlays: [
    { path: "usr", hostDirectory: "/usr" },
    { path: "var/lib/dpkg", hostDirectory: null },
  ],
};
const plain: MountRequest = { base, layers: [], toolbox: "../../tools/t", isBuild: false };

function lowerOf(request: MountRequest, target: string): string | undefined {
  const mount = planMounts(request).mounts.find((entry) => entry.target === target);
  return mount?.options.find((option) => option.startsWith("lowerdir="))?.slice("lowerdir=".length);
}

test("layers lie above the base, and the base above the host", () => {
  const layers = [
    { key: "new", parts: ["_", "usr"] },
    { key: "old", parts: ["usr"] },
  ];
  const request = { ...plain, layers };
  expect(lowerOf(request, "./root")).toBe("../../layers/new/_:../../bases/k/_");
  expect(lowerOf(request, "./root/usr")).toBe("../../layers/new/usr:../../layers/old/usr:../../bases/k/usr:/usr");
  expect(lowerOf(request, "./root/var/lib/dpkg")).toBe("../../bases/k/var!lib!dpkg");
});

test("the root comes first and every upper directory has its work directory", () => {
  const { mounts, directories } = planMounts(plain);
  expect(mounts[0]?.target).toBe("./root");
  expect(Object.keys(directories).filter((path) => path.startsWith("upper/"))).toEqual([
    "upper/_",
    "upper/usr",
    "upper/var!lib!dpkg",
  ]);
  expect(directories).toMatchObject({ "work/_": 0o755, "work/usr": 0o755, "work/var!lib!dpkg": 0o755 });
});

test("volumes are plain directories, unless a layer has something for them or one is being built", () => {
  expect([...planMounts(plain).volumes.keys()]).toEqual(["/logs", "/tests", "/oracle", "/tmp", "/run"]);
  const layered = { ...plain, layers: [{ key: "l", parts: ["tmp"] }] };
  expect(planMounts(layered).volumes.has("/tmp")).toBe(false);
  expect(lowerOf(layered, "./root/tmp")).toBe("../../layers/l/tmp:disk/volumes/tmp");
  expect(planMounts({ ...plain, isBuild: true }).volumes.size).toBe(0);
});

test("nothing of the host is mounted but directories of the base, devices and our tools", () => {
  const sources = planMounts(plain).mounts.map(({ source }) => source);
  const fromHost = sources.filter((source) => source.startsWith("/") && !source.startsWith("/dev/"));
  expect(fromHost).toEqual([]);
});

test("blanks in paths are escaped in the table", () => {
  const mount = { type: "none", source: "/a b", target: "./root/c#d", options: ["bind"] };
  expect(renderMountTable([mount])).toBe("/a\\040b ./root/c\\043d none bind 0 0\n");
});
