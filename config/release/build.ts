import type { Documents } from "./documents.ts";
import type { Target } from "./targets.ts";
import type { Effort } from "./xz.ts";

/** The program for one system, and what archives and packages of it need besides. */
export interface Build {
  readonly target: Target;
  readonly executable: Uint8Array;
  readonly documents: Documents;
  /** The commit's; everything in an archive is as old. */
  readonly time: Date;
  readonly effort: Effort;
}

/** A file of the release. */
export interface Output {
  /** Below `dist/release`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}
