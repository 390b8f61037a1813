import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRedactor } from "../../base/redactor.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { redactTree } from "./redact-tree.ts";

const redactor = createRedactor([{ name: "TOKEN", value: "tell-nobody" }]);

test("a secret is taken out of files with the longest names and of closed ones", async () => {
  const root = makeRoot();
  const names = ["n".repeat(255), "closed"];
  for (const name of names) writeFileSync(join(root, name), "a tell-nobody b\n");
  chmodSync(join(root, "closed"), 0o000);
  await redactTree(root, redactor, new Set());
  for (const name of names) expect(readFileSync(join(root, name), "utf8")).toBe("a [redacted:TOKEN] b\n");
  expect(readdirSync(root).sort()).toEqual(names.sort());
});

test("files and links that are named like one of ours stay as they are", async () => {
  const root = makeRoot();
  mkdirSync(join(root, "verifier"));
  writeFileSync(join(root, "verifier", "reward.txt"), "0\n");
  writeFileSync(join(root, "log"), "tell-nobody\n");
  symlinkSync("verifier/reward.txt", join(root, "log.redacted"));
  await redactTree(root, redactor, new Set());
  expect(readFileSync(join(root, "log"), "utf8")).toBe("[redacted:TOKEN]\n");
  expect(readlinkSync(join(root, "log.redacted"))).toBe("verifier/reward.txt");
  expect(readFileSync(join(root, "verifier", "reward.txt"), "utf8")).toBe("0\n");
});

test("a secret is taken out of names, of folders too, and of where links lead", async () => {
  const root = makeRoot();
  mkdirSync(join(root, "a-tell-nobody", "tell-nobody"), { recursive: true });
  writeFileSync(join(root, "a-tell-nobody", "tell-nobody", "tell-nobody.log"), "inside\n");
  // Base64 of the same secret: another name that comes to the same.
  mkdirSync(join(root, `a-${Buffer.from("tell-nobody").toString("base64").replace(/=+$/, "")}`));
  symlinkSync("tell-nobody/x", join(root, "link"));
  await redactTree(root, redactor, new Set());
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  expect(names.join("\n")).not.toMatch(/tell-nobody|dGVsbC1ub2Jv/);
  const mark = "[redacted:TOKEN]";
  expect(readFileSync(join(root, `a-${mark}`, mark, `${mark}.log`), "utf8")).toBe("inside\n");
  expect(names.filter((name) => name.startsWith("a-") && !name.includes("/"))).toHaveLength(2);
  expect(readlinkSync(join(root, "link"))).toBe(`${mark}/x`);
});

test("a secret with slashes in it is taken out where it is a name over several folders", async () => {
  const root = makeRoot();
  const slashed = createRedactor([{ name: "KEY", value: "abc/defg+hi/jkl" }]);
  mkdirSync(join(root, "logs/abc/defg+hi/jkl"), { recursive: true });
  writeFileSync(join(root, "logs/abc/defg+hi/jkl/out.txt"), "inside\n");
  mkdirSync(join(root, "logs/x-abc/defg+hi/jkl-1/abc/defg+hi/jkl"), { recursive: true });
  writeFileSync(join(root, "logs/x-abc/honest.txt"), "stays\n");
  await redactTree(root, slashed, new Set());
  expect(readdirSync(root, { recursive: true, encoding: "utf8" }).sort()).toEqual([
    "logs",
    "logs/[redacted:KEY]",
    "logs/[redacted:KEY]/out.txt",
    "logs/x-[redacted:KEY]-1",
    "logs/x-[redacted:KEY]-1/[redacted:KEY]",
    "logs/x-abc",
    "logs/x-abc/honest.txt",
  ]);
});
