import { expect, test } from "vitest";
import { findRemedy, refuseOtherSystems, type MachineFacts } from "./probe-local.ts";

const machine: MachineFacts = {
  isContainer: false,
  isRoot: false,
  kernel: "6.8.0-31-generic",
  appArmorRestricts: false,
  mostUserNamespaces: 100_000,
  allowsUserNamespaces: true,
};

test("every cause has its remedy", () => {
  expect(findRemedy("", { ...machine, mostUserNamespaces: 0 })).toContain("user.max_user_namespaces");
  expect(findRemedy("", { ...machine, allowsUserNamespaces: false })).toContain("unprivileged_userns_clone=1");
  expect(findRemedy("overlay", { ...machine, appArmorRestricts: true })).toMatch(/AppArmor.*run as root/);
  expect(findRemedy("overlay", { ...machine, kernel: "5.4.0-1" })).toContain("5.11");
  expect(findRemedy("", { ...machine, isContainer: true })).toContain("--privileged");
  expect(findRemedy("proc", machine)).toContain("/proc");
  expect(findRemedy("pivot", machine)).toContain("docker");
});

test("root is not told what holds for others only", () => {
  const facts = { ...machine, isRoot: true, appArmorRestricts: true, allowsUserNamespaces: false, isContainer: true };
  expect(findRemedy("overlay", facts)).toContain("container");
});

test("other systems are refused in one sentence", () => {
  expect(() => refuseOtherSystems("darwin")).toThrow(/needs Linux; use Docker Desktop/);
  expect(() => refuseOtherSystems("linux")).not.toThrow();
});
