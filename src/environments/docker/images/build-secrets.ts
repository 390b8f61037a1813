import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createRedactor, shortestSecret, type Redactor } from "../../../base/redactor.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import type { DockerGround } from "../docker-ground.ts";

type SecretGround = Pick<DockerGround, "config" | "host" | "baseDir" | "engine">;

/** Rejects with `config_invalid` when a secret for builds is not to be had, or the engine has no use for any. */
export async function checkBuildSecrets({ config, host, baseDir, engine }: SecretGround): Promise<void> {
  const secrets = Object.entries(config.build.secrets);
  if (secrets.length > 0 && !engine.hasBuildKit) {
    throw new RolloutError("config_invalid", "build.secrets needs BuildKit, which this engine does not have");
  }
  for (const [id, secret] of secrets) {
    if ("env" in secret) {
      if (host.env[secret.env] !== undefined) continue;
      throw new RolloutError("config_invalid", `build.secrets.${id}: the variable ${secret.env} is not set`);
    }
    try {
      await access(resolve(baseDir, secret.file), constants.R_OK);
    } catch (error) {
      const message = `build.secrets.${id}: ${secret.file} cannot be read: ${messageOf(error)}`;
      throw new RolloutError("config_invalid", message, { cause: error });
    }
  }
}

/** The bytes of a secret; null when there is none of that id. */
export async function readBuildSecret({ config, host, baseDir }: SecretGround, id: string): Promise<Buffer | null> {
  const secret = config.build.secrets[id];
  if (secret === undefined) return null;
  if ("file" in secret) return readFile(resolve(baseDir, secret.file));
  const value = host.env[secret.env];
  return value === undefined ? null : Buffer.from(value);
}

/** Takes the secrets of builds out of what a build prints; those that cannot be read have not been used either. */
export async function createSecretRedactor(ground: SecretGround): Promise<Redactor> {
  const ids = Object.keys(ground.config.build.secrets);
  const secrets = await Promise.all(
    ids.map(async (id) => ({
      name: id,
      value: (await readBuildSecret(ground, id).catch(() => null))?.toString().trim(),
    })),
  );
  return createRedactor(
    secrets.flatMap(({ name, value }) => (value && value.length >= shortestSecret ? [{ name, value }] : [])),
  );
}
