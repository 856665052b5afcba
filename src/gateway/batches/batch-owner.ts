import type { BatchOwner } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";

/** Whose files and batches the client sees, and may cancel or delete. */
export function ownerOf({ keyId, configured }: Pick<AdmittedCall, "keyId" | "configured">): BatchOwner {
  return { keyId, withAccount: configured.settings.batches.share === "account" };
}
