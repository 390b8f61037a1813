import { expect, test } from "vitest";
import { planHostDirectories, readMountPoints, type HostView } from "./plan-host-directories.ts";

function view(paths: Readonly<Record<string, string>>, mountPoints: readonly string[] = []): HostView {
  return {
    mountPoints,
    kindOf: (path) => (paths[path] === undefined ? "missing" : paths[path] === "directory" ? "directory" : "link"),
    linkTarget: (path) => paths[path] ?? "",
    list: (path) =>
      Object.keys(paths)
        .filter((other) => other.startsWith(`${path}/`) && !other.slice(path.length + 1).includes("/"))
        .map((other) => other.slice(path.length + 1)),
  };
}

test("only listed directories are shown, links stay links, and what is changed in place is a copy", () => {
  const plan = planHostDirectories(
    view({ "/bin": "usr/bin", "/usr": "directory", "/etc": "directory", "/home": "directory", "/root": "directory" }),
  );
  expect(plan).toEqual({
    overlays: [
      { path: "usr", hostDirectory: "/usr" },
      { path: "etc", hostDirectory: null },
    ],
    links: { bin: "usr/bin" },
    directories: [],
  });
});

test("a directory with a mount below it is split around the mount", () => {
  const plan = planHostDirectories(
    view({ "/usr": "directory", "/usr/bin": "directory", "/usr/share": "directory", "/usr/share/data": "directory" }, [
      "/",
      "/usr/share/data",
    ]),
  );
  expect(plan.directories).toEqual(["usr", "usr/share"]);
  expect(plan.overlays).toEqual([{ path: "usr/bin", hostDirectory: "/usr/bin" }]);
});

test("mount points are read with their escapes", () => {
  expect(readMountPoints("22 1 8:1 / / rw - ext4 x rw\n30 22 0:5 / /mnt/a\\040b rw - tmpfs t rw\n")).toEqual([
    "/",
    "/mnt/a b",
  ]);
});
