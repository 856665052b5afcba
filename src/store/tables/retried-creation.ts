import type { RetriedCreation } from "../file-records.ts";
import type { Work } from "../query.ts";

/** Stores what a retry gets, in the transaction that creates it. Throws if another process holds the claim now. */
export type StoreCreation = (retry: RetriedCreation) => Work<void>;
