import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { Log } from "../../base/log.ts";
import type { PreparedOnce } from "../../engine/prepared-once.ts";
import type { Engine } from "./connection/open-engine.ts";
import type { DockerConfig } from "./docker-config-schema.ts";
import type { DoubtfulContainers } from "./doubtful-containers.ts";
import type { ImageNotes } from "./images/image-notes.ts";
import type { LogVolumes } from "./log-volumes.ts";
import type { AllowNetwork } from "./network/allow-network.ts";

/** What all the work of one provider stands on. */
export interface DockerGround {
  readonly engine: Engine;
  readonly images: ImageNotes;
  readonly logVolumes: LogVolumes;
  /** Where containers go that may reach some hosts only; null when that cannot be enforced. */
  readonly allowNetwork: PreparedOnce<AllowNetwork> | null;
  readonly doubtful: DoubtfulContainers;
  readonly config: DockerConfig;
  readonly baseDir: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
}
