import { expect, test } from "vitest";
import { planLooks, type PathChange } from "./plan-looks.ts";

test("everything that was added or changed is looked at once, and nothing that is the image's", () => {
  const changes: PathChange[] = [
    { Path: "/etc", Kind: 0 },
    { Path: "/etc/passwd", Kind: 0 },
    { Path: "/etc/motd", Kind: 2 },
    { Path: "/opt", Kind: 0 },
    { Path: "/opt/tool", Kind: 1 },
    { Path: "/opt/tool/bin", Kind: 1 },
    { Path: "/opt/tool/bin/run", Kind: 1 },
    { Path: "/root", Kind: 0 },
    { Path: "/root/.login", Kind: 1 },
    { Path: "/srv", Kind: 0 },
  ];
  expect(planLooks(changes)).toEqual([
    { path: "/etc/passwd", isWhole: false },
    { path: "/opt/tool", isWhole: true },
    { path: "/root/.login", isWhole: true },
    { path: "/srv", isWhole: false },
  ]);
});
