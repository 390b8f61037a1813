import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";

/** Loads modules of a person's project, anew each time, and knows which files they are made of. */
export interface ModuleLoader extends Disposable {
  load(file: string): Promise<Readonly<Record<string, unknown>>>;
  /** The files that the last load took, without installed packages. */
  readonly files: ReadonlySet<string>;
}

const ours = "rollout-eval/";
const moduleWords = /^(?:import\s*[\w${}*"']|export\s*[\w${}*])/m;
const scriptWords = /\b(?:require\(|module\.exports|exports\.)/;

/** Lets modules import this very package by name where their project has not installed it, also in a project of type commonjs. */
export function openModuleLoader(packageDir: string): ModuleLoader {
  const files = new Set<string>();
  const distUrl = pathToFileURL(join(packageDir, "dist/")).href;
  let generation = 0;
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = resolveOrOurs(specifier, packageDir, () => nextResolve(specifier, context));
      // Only what hangs together with the loaded file is anew; the command's own modules stay as they are.
      if (!isProjectFile(resolved.url, distUrl) || !context.parentURL?.includes("?rollout=")) return resolved;
      files.add(fileURLToPath(resolved.url));
      return { ...resolved, url: `${resolved.url}?rollout=${generation}` };
    },
    load(url, context, nextLoad) {
      return nextLoad(url, { ...context, format: formatOf(url, context.format) });
    },
  });
  return {
    files,
    async load(file) {
      files.clear();
      files.add(file);
      const loaded: unknown = await import(`${pathToFileURL(file).href}?rollout=${++generation}`);
      return loaded as Readonly<Record<string, unknown>>;
    },
    [Symbol.dispose]: () => hooks.deregister(),
  };
}

function resolveOrOurs<Resolved extends { url: string }>(
  specifier: string,
  packageDir: string,
  resolve: () => Resolved,
): Resolved | { url: string; shortCircuit: true } {
  if (!specifier.startsWith(ours)) return resolve();
  try {
    return resolve();
  } catch {
    const entry = join(packageDir, "dist", `${specifier.slice(ours.length)}.js`);
    return { url: pathToFileURL(entry).href, shortCircuit: true };
  }
}

function isProjectFile(url: string, distUrl: string): boolean {
  return url.startsWith("file:") && !url.startsWith(distUrl) && !url.includes("/node_modules/") && !url.includes("?");
}

/** What `npm init` writes makes every file a script; one that says `import` or `export` is a module all the same. */
function formatOf(url: string, format: string | null | undefined): string | null | undefined {
  const isScript = format === "commonjs" || format === "commonjs-typescript";
  if (!isScript || !url.includes("?rollout=") || /\.c[jt]s\?/.test(url)) return format;
  const text = readFileSync(new URL(url), "utf8");
  return moduleWords.test(text) && !scriptWords.test(text) ? format.replace("commonjs", "module") : format;
}
