import { clientDialect } from "../../dialects/registry.ts";

/** The dialect whose API has message batches. */
export const messageDialect = clientDialect("messages");
