import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";

const everything = [
  "jobs",
  "datasets",
  "experiments",
  "environments",
  "store",
  "report",
  "engine",
  "scoring",
  "analysis",
  "formats",
  "base",
];

/** Who may import whom: each room with the rooms it may look into. A room may always look into itself. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  base: [],
  engine: ["base"],
  scoring: ["base"],
  analysis: ["base"],
  formats: ["base"],
  environments: ["engine", "analysis", "base"],
  store: ["engine", "analysis", "base"],
  report: ["store", "engine", "analysis", "base"],
  jobs: ["environments", "store", "engine", "analysis", "base"],
  datasets: ["store", "scoring", "engine", "analysis", "formats", "base"],
  experiments: ["store", "scoring", "engine", "analysis", "formats", "base"],
  public: everything,
  cli: everything,
};

/** What a door may see of a socket: its contract, never an adapter or the registry. */
const contracts: Readonly<Record<string, readonly string[]>> = {
  environments: ["environment.ts", "provider-config.ts"],
  store: [
    "store.ts",
    "dataset-store.ts",
    "run.ts",
    "run-store.ts",
    "run-source.ts",
    "run-events.ts",
    "failure.ts",
    "unit-row.ts",
    "unit-writer.ts",
    "heartbeat.ts",
    "lease.ts",
    "store-error.ts",
    "media-type.ts",
    // What a source of runs is built with.
    "byte-range.ts",
    "cursor.ts",
    "follow-run.ts",
    "page-rows.ts",
    "page-runs.ts",
    "recount.ts",
    "unit-values.ts",
  ],
};

/** Folders inside a socket that its adapters share; the others are adapters and do not know each other. */
const sharedFolders: Readonly<Record<string, readonly string[]>> = {
  environments: ["archive", "guest", "conformance", "images", "integrity"],
  store: ["conformance", "sql"],
};

const doors = ["jobs", "datasets", "experiments"];

/** Only these may read the environment, arguments or signals of the process. */
const mayReadProcess = ["cli", "public"];

export interface Violation {
  readonly file: string;
  readonly message: string;
}

/** Every import below a source directory that breaks the plan of the house. */
export function findViolations(srcDir: string): Violation[] {
  const violations: Violation[] = [];
  for (const file of globSync("**/*.ts", { cwd: srcDir })) {
    const text = readFileSync(join(srcDir, file), "utf8");
    const from = place(file);
    if (from.room !== "" && !(from.room in rooms))
      violations.push({ file, message: `"${from.room}" is not a room of the plan` });
    for (const target of importedFiles(srcDir, file, text)) {
      if (target.startsWith("..")) violations.push({ file, message: `imports ${target}, outside the source` });
      else {
        const message = judge(file, place(target));
        if (message !== null) violations.push({ file, message: `${message} (${target})` });
      }
    }
    if (!mayReadProcess.includes(from.room) && !isTest(file) && /\bprocess\.(env|argv|on|exit|cwd)\b/.test(text)) {
      violations.push({ file, message: "reads the process; host facts are handed down from cli or public" });
    }
  }
  return violations;
}

interface Place {
  readonly room: string;
  readonly folder: string;
  readonly name: string;
}

function place(file: string): Place {
  const parts = file.split("/");
  return {
    room: parts.length > 1 ? (parts[0] ?? "") : "",
    folder: parts.length > 2 ? (parts[1] ?? "") : "",
    name: parts.at(-1) ?? "",
  };
}

function judge(file: string, to: Place): string | null {
  const from = place(file);
  if (from.room === to.room) return judgeInside(from, to, file);
  if (!(rooms[from.room] ?? []).includes(to.room)) {
    // Tests of a door may use the adapters that come for testing.
    if (!isTest(file)) return `${from.room} may not import ${to.room}`;
  }
  const contract = contracts[to.room];
  if (doors.includes(from.room) && contract && !isTest(file) && !(to.folder === "" && contract.includes(to.name))) {
    return `${from.room} may only import the contract of ${to.room}`;
  }
  return null;
}

function judgeInside(from: Place, to: Place, file: string): string | null {
  const shared = sharedFolders[from.room];
  if (!shared || isTest(file)) return null;
  const isAdapter = (folder: string): boolean => folder !== "" && !shared.includes(folder);
  if (isAdapter(to.folder) && to.folder !== from.folder && from.name !== "registry.ts")
    return `only registry.ts may name the adapter ${to.folder}`;
  return null;
}

function isTest(file: string): boolean {
  return file.endsWith(".test.ts") || file.includes("/testing/");
}

function importedFiles(srcDir: string, file: string, text: string): string[] {
  const specifiers: string[] = [];
  const keep = (source: { readonly type: string; readonly value?: unknown } | null): void => {
    if (source?.type === "Literal" && typeof source.value === "string" && source.value.startsWith("."))
      specifiers.push(source.value);
  };
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message ?? "cannot be parsed"}`);
  new Visitor({
    ImportDeclaration: (node) => keep(node.source),
    ExportNamedDeclaration: (node) => keep(node.source),
    ExportAllDeclaration: (node) => keep(node.source),
    ImportExpression: (node) => keep(node.source),
  }).visit(program);
  return specifiers.map((specifier) => {
    const target = relative(srcDir, join(srcDir, dirname(file), specifier));
    if (!existsSync(join(srcDir, target))) throw new Error(`${file} imports ${specifier}, which does not exist`);
    return target;
  });
}
