import type { Places } from "./places.ts";
import type { ProblemList } from "./problems.ts";
import type { SecretSources } from "./secrets.ts";

/** Shared by all parts of the loader while they read one configuration. */
export interface LoadContext extends SecretSources {
  readonly problems: ProblemList;
  readonly places: Places;
  readonly warnings: string[];
}
