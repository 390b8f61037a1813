import type { BuildImageRequest } from "../../environment.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";

/** A volume of a builder's Pod, for what it is sent and what it makes. */
export const workshopPath = "/rollout";
/** Where a secret with the logins of registries is mounted. */
export const secretPath = "/rollout-secret";

const folder = `${workshopPath}/build`;

// The build is started once and runs beside the connection. Whoever connects is told what it said after so many bytes.
const followScript = `cd "$1" || exit 1; heard=$2
if mkdir begun 2>/dev/null; then
  : > log
  (cd context && sh ../build; echo "$?" > ../code.new; mv ../code.new ../code) </dev/null >log 2>&1 &
  echo "$!" > pid
fi
read -r pid < pid
while :; do
  over=; if [ -e code ] || [ ! -d "/proc/$pid" ]; then over=1; fi
  size=$(wc -c < log)
  if [ "$size" -gt "$heard" ]; then tail -c "+$((heard + 1))" log | head -c "$((size - heard))"; heard=$((size)); fi
  [ -z "$over" ] || break
  sleep 0.2 2>/dev/null || sleep 1
done
code=137; [ -e code ] && read -r code < code; exit "$code"`;

/** The command that unpacks what a builder is sent. */
export function planUnpack(): readonly string[] {
  return ["sh", "-c", 'rm -rf "$1"; mkdir -p "$1" && cd "$1" && exec tar -x -p -o -f -', "sh", folder];
}

/** The command that starts the build, unless it runs, and tells what it says until its end. */
export function planFollow(heard: number): readonly string[] {
  return ["sh", "-c", followScript, "sh", folder, String(heard)];
}

export interface BuildScriptOptions {
  readonly ref: string;
  readonly plan: Pick<BuildImageRequest["plan"], "noCache">;
  readonly config: Pick<KubernetesConfig, "build" | "registry_insecure">;
  readonly builder: Pick<NonNullable<KubernetesConfig["builder"]>, "kind" | "privileged" | "secret">;
}

/** The script that builds and pushes; it is sent with the context, because addresses are logged by servers. */
export function planBuildScript(options: BuildScriptOptions): string {
  const auth = options.builder.secret === undefined ? `${folder}/auth` : secretPath;
  const registries = options.config.registry_insecure
    ? [`export CONTAINERS_REGISTRIES_CONF=${folder}/registries.conf`]
    : [];
  const lines = options.builder.kind === "buildkit" ? buildKitLines(options) : buildahLines(options);
  const variables = [`export DOCKER_CONFIG=${auth} REGISTRY_AUTH_FILE=${auth}/config.json`];
  return [...variables, ...registries, ...lines, ""].join("\n");
}

function buildKitLines({ ref, plan, config, builder }: BuildScriptOptions): string[] {
  const { args, target, platform } = config.build;
  const options = {
    ...(target === undefined ? {} : { target }),
    ...(platform === undefined ? {} : { platform }),
    ...Object.fromEntries(Object.entries(args).map(([key, value]) => [`build-arg:${key}`, value])),
  };
  const insecure = config.registry_insecure ? ",registry.insecure=true" : "";
  const words = [
    "buildctl-daemonless.sh",
    "build",
    "--progress=plain",
    "--frontend=dockerfile.v0",
    "--local=context=.",
    "--local=dockerfile=.",
    `--output=type=image,name=${ref},push=true${insecure}`,
    ...(plan.noCache ? ["--no-cache"] : []),
    ...Object.entries(options).map(([key, value]) => `--opt=${key}=${value}`),
  ];
  // Without rights on the node it cannot give each step a view of its own on the processes.
  const flags = [`--root=${workshopPath}/buildkit`, `--config=${folder}/buildkitd.toml`].concat(
    builder.privileged ? [] : ["--oci-worker-no-process-sandbox"],
  );
  return [`export BUILDKITD_FLAGS="${flags.join(" ")} \${BUILDKITD_FLAGS:-}"`, `exec ${quote(words)}`];
}

function buildahLines({ ref, plan, config }: BuildScriptOptions): string[] {
  const { args, target, platform } = config.build;
  const buildah = ["buildah", `--root=${workshopPath}/storage`, `--runroot=${workshopPath}/run`];
  const build = [
    ...buildah,
    "bud",
    "-t",
    ref,
    ...(plan.noCache ? ["--no-cache"] : []),
    ...(target === undefined ? [] : ["--target", target]),
    ...(platform === undefined ? [] : ["--platform", platform]),
    ...Object.entries(args).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]),
    ".",
  ];
  return [
    // What works in every Pod; a builder that can do better says so in its variables.
    "export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}",
    `${quote(build)} && exec ${quote([...buildah, "push", ref])}`,
  ];
}

function quote(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}
