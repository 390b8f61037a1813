import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ConfigResult, ProviderModule } from "./environment.ts";
import { checkProviderConfig } from "./provider-config.ts";
import { knownProviderNames, loadProviderModule } from "./registry.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rollout-registry-"));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const source = (name: string): string => `
const configSchema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
export const providerModule = { name: ${JSON.stringify(name)}, configSchema, open: async () => { throw new Error(); } };
`;

function writePackage(name: string, manifest: object, files: Readonly<Record<string, string>>): void {
  const root = join(dir, "node_modules", name);
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ name, type: "module", ...manifest }));
  for (const [file, content] of Object.entries(files)) writeFileSync(join(root, file), content);
}

function moduleWith(validate: (value: unknown) => ConfigResult | Promise<ConfigResult>): ProviderModule {
  const configSchema = { "~standard": { version: 1, vendor: "test", validate } } as const;
  return { name: "test", configSchema, open: () => Promise.reject(new Error("not opened")) };
}

test("a built-in name loads its provider", async () => {
  expect(knownProviderNames()).toContain("memory");
  expect((await loadProviderModule("memory", dir)).name).toBe("memory");
});

test("a relative or absolute path loads a TypeScript module", async () => {
  mkdirSync(join(dir, "jobs"));
  writeFileSync(join(dir, "mine.ts"), `${source("mine")}export const answer: number = 42;\n`);
  expect((await loadProviderModule("./mine.ts", dir)).name).toBe("mine");
  expect((await loadProviderModule("../mine.ts", join(dir, "jobs"))).name).toBe("mine");
  expect((await loadProviderModule(join(dir, "mine.ts"), "/")).name).toBe("mine");
});

test("a package is found from the job's directory, also when it exports to import only", async () => {
  writePackage("plain-provider", { exports: "./index.js" }, { "index.js": source("plain") });
  writePackage("@scope/esm-provider", { exports: { ".": { import: "./main.js" } } }, { "main.js": source("esm") });
  mkdirSync(join(dir, "jobs"));
  expect((await loadProviderModule("plain-provider", join(dir, "jobs"))).name).toBe("plain");
  expect((await loadProviderModule("@scope/esm-provider", join(dir, "jobs"))).name).toBe("esm");
});

test("an unknown name is a configuration error with a suggestion and the known names", async () => {
  await expect(loadProviderModule("memroy", dir)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/unknown environment type "memroy"; did you mean "memory"\? \(known: .*memory.*\)/),
    hint: expect.stringContaining("providerModule"),
  });
});

test("names of what every object has are unknown too", async () => {
  await expect(loadProviderModule("toString", dir)).rejects.toMatchObject({ code: "config_invalid" });
});

test("a file that is missing, broken or exports no provider is a configuration error that says which", async () => {
  writeFileSync(join(dir, "broken.ts"), "throw new Error('at import');\n");
  writeFileSync(join(dir, "other.ts"), "export const providerModule = { name: 'half' };\n");
  for (const [type, message] of [
    ["./missing.ts", /no file/],
    ["./broken.ts", /at import/],
    ["./other.ts", /exports no `providerModule`/],
  ] as const) {
    await expect(loadProviderModule(type, dir)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(message),
    });
  }
});

test("a valid config comes back as the schema returns it", async () => {
  const module = moduleWith(async (value) => ({ value: { given: value, filled: true } }));
  expect(await checkProviderConfig(module, 1)).toEqual({ value: { given: 1, filled: true } });
});

test("everything that is wrong with a config is told with plain paths", async () => {
  const module = moduleWith(() => ({
    issues: [{ message: "no", path: ["a", 1, { key: "b" }, Symbol("s")] }, { message: "whole" }],
  }));
  expect(await checkProviderConfig(module, {})).toEqual({
    issues: [
      { path: ["a", 1, "b", "Symbol(s)"], message: "no" },
      { path: [], message: "whole" },
    ],
  });
});

test("the memory provider's config needs a handler, takes a price and nothing else", async () => {
  const module = await loadProviderModule("memory", dir);
  expect(await checkProviderConfig(module, { handler: "./h.ts" })).toEqual({
    value: { handler: "./h.ts" },
  });
  const check = await checkProviderConfig(module, { price: -1, pirce: 1 });
  expect(check.issues?.map((issue) => issue.path.join("."))).toEqual(
    expect.arrayContaining(["handler", "price", "pirce"]),
  );
  expect((await checkProviderConfig(module, { handlr: "./h.ts" })).issues).toContainEqual({
    path: ["handlr"],
    message: 'unknown key; did you mean "handler"?',
  });
});
