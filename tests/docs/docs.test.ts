import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { dockerConfigSchema } from "../../src/environments/docker/docker-config-schema.ts";
import { pythonVersion } from "../sdk/find-python.ts";
import { kubernetesConfigSchema } from "../../src/environments/kubernetes/kubernetes-config-schema.ts";
import { failureTypes } from "../../src/jobs/trial/failure.ts";

const root = resolve(import.meta.dirname, "../..");
const linked = /^(?:bin|scripts|\.runtime|node_modules|package-lock\.json|sdk|src|tsconfig.*)$/;
// What the package is made of; npm packs no links.
const packed = ["package.json", "dist", "schemas", "README.md", "LICENSE", "CHANGELOG.md", "SPEC.md"];
const spec = readText("SPEC.md");
const readme = readText("README.md");

beforeAll(() => {
  // Builds what is out of date once, so that no block has to.
  const ready = run("bin/rollout --version", root);
  expect(ready.status, ready.stderr).toBe(0);
});

describe("the commands of a document run as they stand", () => {
  for (const file of ["README.md", ...globSync("docs/guides/*.md", { cwd: root }).sort()]) {
    test(file, (context) => {
      const blocks = fences(readText(file), "sh");
      if (blocks.some((block) => block.includes("python3 ")) && pythonVersion() === null)
        cannotRun(context, "there is no python3 >= 3.10 here");
      if (blocks.some((block) => block.includes("words.sh")) && run("jq --version", root).status !== 0)
        cannotRun(context, "there is no jq here");
      const { status, stdout, stderr } = run(["set -x", ...blocks].join("\n"), makeCheckout());
      expect(status, `${stdout}\n${stderr}`).toBe(0);
      expect(blocks.length).toBeGreaterThan(0);
    });
  }
});

test("the TypeScript that the guides have people write has no type errors", () => {
  for (const file of globSync("docs/guides/*.md", { cwd: root }).sort()) {
    const written = fences(readText(file), "sh").flatMap((block) => [
      ...block.matchAll(/^cat > (\S+\.ts) <<'TS'\n(.*?)^TS$/gms),
    ]);
    const checkout = makeCheckout();
    for (const [, name = "", text = ""] of written) writeFileSync(join(checkout, name), text);
    const names = written.map(([, name = ""]) => name);
    if (names.length > 0) expect(typeErrors(names, checkout), file).toEqual([]);
  }
});

test("the picture in the README shows what the quickstart prints", (context) => {
  const checkout = makeCheckout();
  const { status, stdout } = run("bin/rollout examples/hello-world/job.yaml", checkout);
  if (status === 2) cannotRun(context, "the local environment cannot run here");
  const [, ...shown] = settled(textOfPicture("docs/pictures/quickstart.svg"));
  expect(readme).toContain("](docs/pictures/quickstart.svg)");
  expect(shown).toEqual(settled(stdout));
});

test("the job in the README is valid and has fifteen lines", () => {
  const checkout = makeCheckout();
  const [job = ""] = fences(readme, "yaml");
  writeFileSync(join(checkout, "examples/first-job/readme.yaml"), job);
  const { status, stdout } = run("bin/rollout validate examples/first-job/readme.yaml", checkout);
  expect(status, stdout).toBe(0);
  expect(job.trimEnd().split("\n")).toHaveLength(15);
});

test("the experiment in the README runs as it stands", (context) => {
  if (pythonVersion() === null) cannotRun(context, "there is no python3 >= 3.10 here");
  const checkout = makeCheckout();
  const [experiment = ""] = fences(readme, "py");
  writeFileSync(join(checkout, "spam.py"), experiment);
  const examples = [
    { input: "You won a prize!", output: "spam" },
    { input: "Lunch?", output: "ham" },
  ];
  writeFileSync(join(checkout, "mails.jsonl"), examples.map((example) => JSON.stringify(example)).join("\n"));
  const command = /^# rollout (.*)$/m.exec(experiment)?.[1] ?? "";
  const { status, stdout, stderr } = run(`bin/rollout ${command}`, checkout);
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/correct.*100/);
});

test("every relative link leads to a file, and its fragment to a heading", () => {
  const files = globSync("**/*.md", {
    cwd: root,
    exclude: (path) => /(?:^|\/)(?:node_modules|dist|jobs|\.\w+)$/.test(path),
  });
  const broken = files.flatMap((file) =>
    linksOf(readText(file))
      .filter((link) => !leadsSomewhere(file, link))
      .map((link) => `${file}: ${link}`),
  );
  expect(broken).toEqual([]);
  expect(files).toContain("docs/decisions/0001-one-package-and-a-fetched-runtime.md");
});

test("no line break turns the rest of a sentence into a list", () => {
  const files = ["README.md", "SPEC.md", ...globSync("docs/**/*.md", { cwd: root })];
  const broken = files.flatMap((file) =>
    [...withoutFences(readText(file)).matchAll(/^(?! *\d+\. |#)\S.*\n(\d+\. .*)$/gm)].map(
      ([, line = ""]) => `${file}: ${line}`,
    ),
  );
  expect(broken).toEqual([]);
});

test("the index of the documents names every guide and decision", () => {
  const index = linksOf(readText("docs/README.md"));
  const pages = globSync("docs/{guides,decisions}/*.md", { cwd: root }).map((file) => file.slice("docs/".length));
  expect(pages.filter((page) => !index.includes(page))).toEqual([]);
});

test("the guide to Docker has every key of its provider_config, and no other", () => {
  const table = /\n## provider_config\n[^]*?(\| key [^]*?)\n\n/.exec(readText("docs/guides/docker.md"))?.[1] ?? "";
  const named = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/[\w.]+/g) ?? []);
  const { build, price_per_hour: _alias, ...keys } = dockerConfigSchema.shape;
  const inside = Object.keys(build.def.innerType.shape).map((key) => `build.${key}`);
  expect(named.toSorted()).toEqual([...Object.keys(keys), ...inside].toSorted());
});

test("the guide to Kubernetes has every key of its provider_config, and no other", () => {
  const table = /\n## provider_config\n[^]*?(\| key [^]*?)\n\n/.exec(readText("docs/guides/kubernetes.md"))?.[1] ?? "";
  const named = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, key = ""]) => key);
  const { price_per_hour: _alias, ...keys } = kubernetesConfigSchema.shape;
  expect(named.toSorted()).toEqual(Object.keys(keys).toSorted());
});

describe("the SPEC names", () => {
  test("every key of the job file with its default", () => {
    const schema = JSON.parse(readText("schemas/job.schema.json")) as JsonSchema;
    const rows = new Map(spec.split("\n").flatMap((line) => rowOf(line)));
    const keys = keysOf(schema, "");
    const wrong = keys.filter(({ path, value }) => {
      const row = rows.get(path);
      return row === undefined || (value !== undefined && row.replaceAll("`", "") !== value);
    });
    expect(wrong).toEqual([]);
    expect(keys.length).toBeGreaterThan(50);
  });

  test("every key of task.toml", () => {
    const schema = JSON.parse(readText("schemas/task.schema.json")) as JsonSchema;
    const names = keysOf(schema, "").map(({ path }) => path.split(".").at(-1) ?? "");
    const section = sectionOf("4. Tasks");
    expect(names.filter((name) => !section.includes(`\`${name}\``) && !section.includes(`\`[${name}]\``))).toEqual([]);
  });

  test("every error type", () => {
    const section = sectionOf("9. Error types");
    expect(failureTypes.filter((type) => !section.includes(`| \`${type}\` |`))).toEqual([]);
  });

  test("every command and option of --help", () => {
    const section = sectionOf("2. Command line");
    const { commands, options } = helpOf([]);
    expect(commands.filter((command) => !section.includes(`\`rollout ${command}`))).toEqual([]);
    expect(options.filter((option) => !section.includes(`\`${option}`))).toEqual([]);
    expect(commands).toContain("cache clean");
    expect(options).toContain("--task-tag");
  });

  test("every field of both results, of the lock, of the journal and of the events", () => {
    const checkout = makeCheckout();
    const { stdout } = run("bin/rollout examples/first-job/job.yaml --name fields --json=events", checkout);
    const read = (path: string): string => readFileSync(join(checkout, "jobs/fields", path), "utf8");
    const documents = [read("result.json"), read("oracle/tasks/greet__1/result.json"), read(".rollout/lock.json")];
    const lines = [
      ...read(".rollout/journal.jsonl").split("\n"),
      ...stdout.split("\n"),
      readText("src/report/fixtures/json-events.ndjson"),
    ];
    const values = [...documents, ...lines.flatMap((line) => line.split("\n")).filter((line) => line !== "")].map(
      (text) => JSON.parse(text) as unknown,
    );
    const names = new Set(values.flatMap((value) => fieldsOf(value)));
    const code = [...withoutFences(spec).matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
    const words = new Set(code.flatMap((text) => text.split(/[^\w$]+/)));
    expect([...names].filter((name) => !words.has(name))).toEqual([]);
    expect(names.size).toBeGreaterThan(80);
  });

  test("the rules R1 to R41, each once and in order", () => {
    const numbers = [...spec.matchAll(/^- \*\*R(\d+)\. /gm)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
  });
});

function readText(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** A directory that looks like a checkout and may be written to, as may the directory that holds it. */
function makeCheckout(): string {
  const directory = mkdtempSync(join(tmpdir(), "rollout-docs-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const checkout = join(directory, "rollout");
  mkdirSync(checkout);
  for (const name of readdirSync(root)) {
    if (linked.test(name)) symlinkSync(join(root, name), join(checkout, name));
  }
  for (const name of [...packed, "examples"]) cpSync(join(root, name), join(checkout, name), { recursive: true });
  return checkout;
}

function run(script: string, cwd: string): { status: number | null; stdout: string; stderr: string } {
  // The Node that runs the tests comes first, as it does for somebody who installed it.
  const path = `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  // The picture in the README is 100 columns wide, without colour.
  const look = { LC_ALL: "C.UTF-8", COLUMNS: "100", NO_COLOR: "1", FORCE_COLOR: undefined };
  // A build while packing would take dist/ away from the other tests.
  const npm = { npm_config_offline: "true", npm_config_ignore_scripts: "true", npm_config_update_notifier: "false" };
  const env = { ...process.env, ...look, ...npm, PATH: path };
  return spawnSync("bash", ["-euo", "pipefail", "-c", script], { cwd, env, encoding: "utf8" });
}

function typeErrors(files: readonly string[], cwd: string): string[] {
  const compilerOptions = {
    target: "es2024",
    lib: ["esnext"],
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(join(cwd, "tsconfig.guide.json"), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.guide.json"], { cwd, encoding: "utf8" });
  return stdout.split("\n").filter((line) => line !== "");
}

function fences(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, kind, body = ""]) =>
    kind === language ? [body] : [],
  );
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

/** A summary without what differs from run to run: times, their bars and the job's name. */
function settled(summary: string): string[] {
  return summary
    .replaceAll(/\d{4}-\d\d-\d\d__\d\d-\d\d-\d\d(?:-\d+)?/g, "JOB")
    .replaceAll(/\b(?:\d+[dhm])*\d+(?:\.\d+)?(?:ms|[smhd])\b/g, "TIME")
    .replaceAll(/(TIME +TIME) .*$/gm, "$1")
    .split("\n")
    .map((line) => line.replaceAll(/ +/g, " ").trim())
    .filter((line) => line !== "");
}

function textOfPicture(file: string): string {
  const plain = readText(file).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const lines = [...plain.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, spans = ""]) => {
    let line = "";
    for (const [, x = "", text = ""] of spans.matchAll(/<tspan x="([\d.]+)"[^>]*>(.*?)<\/tspan>/g)) {
      line = line.padEnd(Math.round((Number(x) - 16) / 8.4)) + text;
    }
    return line;
  });
  return lines.join("\n");
}

function linksOf(text: string): string[] {
  return [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

function leadsSomewhere(file: string, link: string): boolean {
  const [path = "", fragment] = link.split("#");
  const target = path === "" ? file : join(dirname(file), path);
  if (!existsSync(join(root, target))) return false;
  return fragment === undefined || headingsOf(readText(target)).includes(fragment);
}

function headingsOf(text: string): string[] {
  const titles = [...withoutFences(text).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title);
  return titles.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

function sectionOf(title: string): string {
  const start = spec.indexOf(`\n## ${title}\n`);
  expect(start).toBeGreaterThan(-1);
  const end = spec.indexOf("\n## ", start + 4);
  return spec.slice(start, end === -1 ? undefined : end);
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly default?: unknown;
}

interface SchemaKey {
  readonly path: string;
  /** The default, where it is one value. */
  readonly value: string | undefined;
}

function keysOf(schema: JsonSchema, path: string): SchemaKey[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const isPlain = ["string", "number", "boolean"].includes(typeof inner.default);
    return [{ path: at, value: isPlain ? String(inner.default) : undefined }, ...keysOf(inner, at)];
  });
  const items = schema.items ? keysOf(schema.items, `${path}[]`) : [];
  return [...own, ...items, ...(schema.anyOf ?? []).flatMap((branch) => keysOf(branch, path))];
}

/** The key and the default of a row of the table of keys. */
function rowOf(line: string): [string, string][] {
  const cells = line.split("|").map((cell) => cell.trim());
  const [, name = "", , value = ""] = cells;
  const key = /^`([^`]+)`$/.exec(name)?.[1];
  return key === undefined || cells.length !== 7 ? [] : [[key, value]];
}

/** Every command below the given words, and every option of any of them. */
function helpOf(words: readonly string[]): { commands: string[]; options: string[] } {
  const { stdout } = run(`bin/rollout ${words.join(" ")} --help`, root);
  const part = (name: string): string => new RegExp(`^${name}:\\n((?: .*\\n)+)`, "m").exec(stdout)?.[1] ?? "";
  const options = [...part("Options").matchAll(/^ {2}(-.*?)(?: {2,}|$)/gm)].flatMap(
    ([, flags = ""]) => flags.match(/--?[a-zA-Z][\w-]*/g) ?? [],
  );
  const names = [...part("Commands").matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
  const inner = names.filter((name) => name !== "help").map((name) => helpOf([...words, name]));
  const own = names.filter((name) => name !== "help" || words.length === 0).map((name) => [...words, name].join(" "));
  return {
    commands: [...own, ...inner.flatMap(({ commands }) => commands)],
    options: [...options, ...inner.flatMap(({ options: more }) => more)],
  };
}

// Tables whose keys are names of a job, not fields.
const named = new Set([
  "agents",
  "causes",
  "datasets",
  "details",
  "errors",
  "excluded",
  "files",
  "input",
  "labels",
  "metadata",
  "metrics",
  "output",
  "params",
  "tags",
]);

function fieldsOf(value: unknown, isNamed = false): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const below = fieldsOf(inner, named.has(key) && !Array.isArray(inner));
    return isNamed ? below : [key, ...below];
  });
}
