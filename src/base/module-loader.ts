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

/** Lets modules import this very package by name where their project has not installed it. */
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
