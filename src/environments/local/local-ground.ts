import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { Capabilities } from "../environment.ts";
import type { BaseSystem } from "./base-system.ts";
import type { GroupPlaces } from "./control-groups.ts";
import type { IdMap } from "./id-map.ts";
import type { LocalConfig } from "./local-config-schema.ts";
import type { LocalLayout } from "./local-layout.ts";
import type { PipeStock } from "./pipe-stock.ts";
import type { ProgramStarter } from "./program-starter.ts";
import type { FreshTools } from "./tool-look.ts";
import type { TrashBin } from "./trash-bin.ts";

/** What all environments of a provider have in common and is known without asking the machine. */
export interface LocalGround {
  readonly host: Host;
  readonly clock: Clock;
  /** Paths in the config are relative to it. */
  readonly baseDir: string;
  readonly config: LocalConfig;
  readonly layout: LocalLayout;
  readonly idMap: IdMap;
  /** Where tools of the host are looked for. */
  readonly path: string;
  readonly bash: string;
  readonly nsenter: string;
  readonly groupPlaces: GroupPlaces | null;
  readonly capabilities: Capabilities;
  readonly starter: ProgramStarter;
  readonly trash: TrashBin;
  readonly pipes: PipeStock;
  readonly freshTools: FreshTools;
}

/** What had to be prepared on the machine before the first environment. */
export interface PreparedGround extends LocalGround {
  readonly base: BaseSystem;
  /** The toolbox, relative to the folder of an environment. */
  readonly toolbox: string;
}
