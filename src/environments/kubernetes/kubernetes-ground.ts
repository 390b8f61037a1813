import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { Log } from "../../base/log.ts";
import type { KubeClient } from "./connection/kube-client.ts";
import type { Whereabouts } from "./copy-in.ts";
import type { KubernetesConfig } from "./kubernetes-config-schema.ts";
import type { PodWatch } from "./pods/pod-watch.ts";

/** What all the work of one provider stands on. */
export interface KubernetesGround {
  readonly client: KubeClient;
  readonly watch: PodWatch;
  readonly namespace: string;
  /** `/api/v1/namespaces/default/pods` */
  readonly podsPath: string;
  /** Tells the Pods of this provider from those of others. */
  readonly session: string;
  /** The version of the API server. */
  readonly version: string;
  readonly config: KubernetesConfig;
  readonly timeoutMultiplier: number;
  /** Images whose user may not write to their root. */
  readonly nonRootImages: Set<string>;
  /** Who runs commands and where, by the content of the image. */
  readonly whereabouts: Map<string, Whereabouts>;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
}
