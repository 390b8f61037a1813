import { expect, test } from "vitest";
import { resolveUser } from "./users.ts";

const passwd = "root:x:0:0:root:/root:/bin/bash\nann:x:1000:100::/home/ann:/bin/sh\n";
const group = "root:x:0:\nusers:x:100:\naudio:x:29:bob,ann\nwheel:x:10:root\n";

test("a user has its primary group, the groups it is a member of, and its home", () => {
  const ann = { user: { uid: 1000, gid: 100, groups: [100, 29] }, home: "/home/ann" };
  expect(resolveUser("ann", passwd, group)).toEqual(ann);
  expect(resolveUser("1000", passwd, group)).toEqual(ann);
});

test("root is nobody to change to", () => {
  for (const name of ["root", "0", "0:0", "root:root"]) {
    expect(resolveUser(name, passwd, group)).toEqual({ user: null, home: "/root" });
  }
});

test("a given group replaces the others", () => {
  expect(resolveUser("ann:audio", passwd, group).user).toEqual({ uid: 1000, gid: 29, groups: [29] });
  expect(resolveUser("1000:7", passwd, group).user).toEqual({ uid: 1000, gid: 7, groups: [7] });
});

test("numbers that nobody has are taken, names that nobody has are refused", () => {
  expect(resolveUser("4711", passwd, group)).toEqual({ user: { uid: 4711, gid: 0, groups: [0] }, home: "/" });
  expect(() => resolveUser("bob", passwd, group)).toThrow(/no user "bob"/);
  expect(() => resolveUser("ann:nogroup", passwd, group)).toThrow(/no group "nogroup"/);
});
