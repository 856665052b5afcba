import type { JsonObject } from "../../base/json.ts";
import { hasKeyForm } from "../../keys/secret.ts";
import type { SavedSignIn } from "./saved-sign-in.ts";

export type IssuedTokens = Pick<SavedSignIn, "access" | "accessEndsAtMs" | "refresh">;

/** The tokens in a response of the token endpoint; null if it has none. */
export function tokensIn(body: JsonObject, nowMs: number): IssuedTokens | null {
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = body;
  if (typeof access !== "string" || !hasKeyForm(access)) return null;
  if (typeof refresh !== "string" || typeof seconds !== "number") return null;
  return { access, accessEndsAtMs: nowMs + seconds * 1000, refresh };
}
