// Builds dist/: the bundled command and library entries, their declarations, and the licences of what is bundled.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { rolldown } from "rolldown";

const doors = globSync("src/public/*.ts").filter((file) => !file.endsWith(".test.ts"));
const entries: Record<string, string> = { bin: "src/cli/bin.ts", main: "src/cli/main.ts" };
for (const file of doors) entries[basename(file, ".ts")] = file;

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

// Built beside dist/ and swapped in whole, so that a failed build leaves the last good one.
const staging = `.runtime/dist-${process.pid}`;
mkdirSync(staging, { recursive: true });
process.on("exit", () => rmSync(staging, { recursive: true, force: true }));
const bundle = await rolldown({
  input: entries,
  platform: "node",
  // Lowered to Node 20 syntax so that an old Node reaches the check that tells its user what to install.
  transform: { target: "node20", define: { __ROLLOUT_VERSION__: JSON.stringify(version) } },
  onLog(level, log, handle) {
    if (level === "warn") throw new Error(log.message);
    handle(level, log);
  },
});
const { output } = await bundle.write({
  dir: staging,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  minify: { mangle: false, compress: true, codegen: { removeWhitespace: false } },
});
await bundle.close();
for (const chunk of output) {
  if (chunk.type === "chunk") writeFileSync(join(staging, chunk.fileName), withLooseBuiltins(chunk.code));
}

// Of the doors alone: the tests beside them, and what only tests use, are no part of the package.
const typesConfig = join(staging, "tsconfig.json");
const files = doors.map((file) => resolve(file));
writeFileSync(typesConfig, JSON.stringify({ extends: resolve("tsconfig.types.json"), include: [], files }));
const declarations = spawnSync(
  process.execPath,
  ["node_modules/typescript/bin/tsc", "-p", typesConfig, "--outDir", join(staging, "types")],
  { stdio: "inherit" },
);
if (declarations.status !== 0) process.exit(1);
rmSync(typesConfig);

writeFileSync(join(staging, "THIRD-PARTY-LICENSES.txt"), bundledLicences());
writeFileSync(join(staging, "bin.js"), withLauncher(readFileSync(join(staging, "bin.js"), "utf8")));
chmodSync(join(staging, "bin.js"), 0o755);
writeFileSync(join(staging, ".built"), "");
swapIn();

// Node resets ignored signals before any of our code runs, so that `nohup` would have no effect. A shell reads them first.
// To Node the second line is a text and a comment.
function withLauncher(code: string): string {
  const read = 'while read -r k v; do case $k in SigIgn:) export ROLLOUT_IGNORED_SIGNALS="$v";; esac; done';
  const launcher = `":" //; { ${read} < /proc/$$/status; } 2>/dev/null; exec node "$0" "$@"`;
  return code.replace(/^#!.*\n/, () => `#!/usr/bin/env sh\n${launcher}\n`);
}

// Over one name that a built-in module lacks an old Node refuses the whole file, before the check in it can speak. And an
// import of a built-in reads all that it has, which for some of them takes longer than all of ours. What bundled packages
// make of node:module they make before any check, so that it must be there on every Node.
function withLooseBuiltins(code: string): string {
  const pattern = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:\{ ([^}]+) \})? from ("node:[^"]+");$/gm;
  return code.replace(pattern, (_line, whole?: string, space?: string, names?: string, source?: string) => {
    const places = [whole, space, names && `{ ${names.replaceAll(" as ", ": ")} }`].filter((place) => place);
    const isEverywhere = source === '"node:module"';
    const builtin = isEverywhere ? "builtin_module" : `globalThis.process.getBuiltinModule?.(${source}) ?? {}`;
    const before = isEverywhere ? `import * as builtin_module from ${source};\n` : "";
    return before + places.map((place) => `const ${place} = ${builtin};`).join(" ");
  });
}

function bundledLicences(): string {
  const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  const names = new Set(
    modules.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id)?.[1] ?? []),
  );
  if (names.size === 0) throw new Error("no bundled package was found; the licences would be missing");
  return [...names].sort().map(licenceOf).join("\n\n");
}

function licenceOf(name: string): string {
  const folder = join("node_modules", name);
  const licence = existsSync(folder) && readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  const text = licence ? readFileSync(join(folder, licence), "utf8") : licenceInReadme(folder);
  if (!text) throw new Error(`${name} is bundled but has no licence to carry along`);
  return `${name}\n\n${text.trim()}\n`;
}

// Some packages have theirs at the end of the README and nowhere else.
function licenceInReadme(folder: string): string | undefined {
  const readme = join(folder, "README.md");
  return existsSync(readme) ? /^#+ licen[cs]e\n(.*)/ims.exec(readFileSync(readme, "utf8"))?.[1] : undefined;
}

// Two builds may end at once; whichever comes last is as good as the other.
function swapIn(): void {
  const old = `${staging}-old`;
  for (let tries = 0; ; tries++) {
    try {
      if (existsSync("dist")) renameSync("dist", old);
      renameSync(staging, "dist");
      break;
    } catch (error) {
      if (tries === 20) throw error;
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  }
}
