/** What an API server says about a Pod, as far as we care. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: { readonly nodeName?: string; readonly imagePullSecrets?: readonly { readonly name?: string }[] };
  readonly status?: PodStatus;
}

export interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly podIP?: string;
  readonly conditions?: readonly PodCondition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly imageID?: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly running?: object;
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly reason?: string; readonly message?: string; readonly exitCode?: number };
}

/** The container of a Pod in which trials run. */
export const mainContainer = "main";

/** How the container of a trial stands; undefined before the kubelet has seen it. */
export function mainState(pod: Pod): ContainerState | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === mainContainer)?.state;
}

/** What the image of a trial's container is by its content; empty when the kubelet has not told. */
export function imageOf(pod: Pod): string {
  return pod.status?.containerStatuses?.find(({ name }) => name === mainContainer)?.imageID ?? "";
}

/** The condition of that type. */
export function conditionOf(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}
