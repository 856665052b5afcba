import type { ProblemList } from "./problems.ts";
import type { SecretSources } from "./secrets.ts";

/** What every part of the loader shares while one configuration is being read. */
export interface LoadContext extends SecretSources {
  readonly problems: ProblemList;
  readonly warnings: string[];
}
