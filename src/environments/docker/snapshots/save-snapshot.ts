import { RolloutError } from "../../../base/rollout-error.ts";
import type { SnapshotRequest } from "../../environment.ts";
import type { DockerGround } from "../docker-ground.ts";
import { hasImage } from "../images/build-docker-image.ts";
import type { ImageAnswer } from "../images/image-notes.ts";
import { examineChanges } from "./examine-changes.ts";
import type { PathChange } from "./plan-looks.ts";
import { bareId, planSnapshotLabels, snapshotTag } from "./snapshot-labels.ts";

export interface SaveRequest extends SnapshotRequest {
  /** The container's full id. */
  readonly id: string;
  readonly image: ImageAnswer;
  /** Its logs are a directory of this machine, and no part of it. */
  readonly hasLogVolume: boolean;
}

interface ContainerAnswer {
  readonly Image: string;
  readonly Config: { readonly Labels?: Readonly<Record<string, string>> | null };
}

/** Commits a container to an image with the settings of the image it was made from; null when that was refused. */
export async function saveSnapshot(ground: DockerGround, request: SaveRequest): Promise<string | null> {
  const { engine } = ground;
  const { id, key, image, hasLogVolume, signal } = request;
  refuseVolumes(ground, image);
  const path = `/containers/${id}`;
  const changes =
    (await engine.client.json<readonly PathChange[] | null>({ method: "GET", path: `${path}/changes`, signal })) ?? [];
  if (!(await examineChanges(engine, id, changes, request))) return null;
  const { Config, Image } = await engine.client.json<ContainerAnswer>({ method: "GET", path: `${path}/json`, signal });
  // A tag may have been given to another image since it was looked at.
  if (bareId(Image) !== bareId(image.Id)) throw new RolloutError("unsupported", "its image was replaced meanwhile");
  const labels = planSnapshotLabels({ key, image, worn: Config.Labels ?? {}, changes, hasLogVolume });
  // Where it finds none, an engine takes the container's.
  const bare = { Entrypoint: image.Config?.Entrypoint ?? [], Cmd: image.Config?.Cmd ?? [] };
  const committed = await commit(ground, id, { ...image.Config, ...bare, Labels: labels }, signal);
  await publish(ground, committed, key, signal);
  return snapshotTag(key);
}

// What an image or a job mounts is in no image that is made of a container.
function refuseVolumes({ config }: DockerGround, { Config }: ImageAnswer): void {
  const lost = [
    ...Object.keys(Config?.Volumes ?? {}),
    ...config.mounts.filter(({ type, source }) => type !== "bind" && source === undefined).map(({ target }) => target),
  ];
  if (lost.length === 0) return;
  throw new RolloutError("unsupported", `what it left in ${lost.join(", ")} would be lost: a volume cannot be saved`);
}

// Nothing runs in it that would have to be paused. A large one takes longer than other answers may.
async function commit(
  ground: DockerGround,
  id: string,
  config: NonNullable<ImageAnswer["Config"]>,
  signal: AbortSignal,
): Promise<string> {
  // Podman reads no settings but those that are written like a Dockerfile.
  const changes = ground.engine.product === "podman" ? planInstructions(config) : undefined;
  const query = { container: id, pause: false, comment: "an agent's install", changes };
  const answer = await ground.engine.client.open({ method: "POST", path: "/commit", query, json: config, signal });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer) chunks.push(chunk as Uint8Array);
  return (JSON.parse(Buffer.concat(chunks).toString("utf8")) as { Id: string }).Id;
}

function planInstructions({ Labels, Entrypoint, Cmd }: NonNullable<ImageAnswer["Config"]>): string {
  const labels = Object.entries(Labels ?? {}).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`);
  return [`ENTRYPOINT ${JSON.stringify(Entrypoint ?? [])}`, `CMD ${JSON.stringify(Cmd ?? [])}`, ...labels].join("\n");
}

// One that another process made meanwhile is as good, and may be in use already.
async function publish(ground: DockerGround, committed: string, key: string, signal: AbortSignal): Promise<void> {
  const { client } = ground.engine;
  const path = `/images/${encodeURIComponent(committed)}`;
  if (await hasImage(ground, snapshotTag(key), signal)) {
    await client.text({ method: "DELETE", path, signal });
    return;
  }
  const [repo, tag] = snapshotTag(key).split(":");
  await client.text({ method: "POST", path: `${path}/tag`, query: { repo, tag }, signal });
  ground.images.forget(snapshotTag(key));
}
