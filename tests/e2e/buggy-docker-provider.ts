// The docker provider with a bug: its environments fail with something that nobody throws on purpose.
import type { ProviderModule } from "rollout-eval/environments";
import { dockerProviderModule } from "../../src/environments/docker/docker-provider.ts";

/** The module that a job names with `type`. */
export const providerModule: ProviderModule = {
  ...dockerProviderModule,
  name: "buggy-docker",
  async open(options) {
    const provider = await dockerProviderModule.open(options);
    const create = provider.createEnvironment.bind(provider);
    provider.createEnvironment = async (request) => {
      const environment = await create(request);
      environment.listProcesses = async () => {
        throw new TypeError("the list has no end");
      };
      return environment;
    };
    return provider;
  },
};
