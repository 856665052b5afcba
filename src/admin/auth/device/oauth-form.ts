import type { AdminDeps } from "../../deps.ts";
import { json } from "../../formats/admin-error.ts";
import { bodyBytes } from "../../routes/check.ts";

export type Form = ReadonlyMap<string, string>;

const maxFormBytes = 4096;
const maxNameLength = 60;

/** Null if a parameter occurs twice, which RFC 6749 forbids. */
export async function formOf(request: Request): Promise<Form | null> {
  const pairs = [...new URLSearchParams(new TextDecoder().decode(await bodyBytes(request, maxFormBytes)))];
  const form = new Map(pairs);
  return form.size === pairs.length ? form : null;
}

/** Cleans a name from a form. It is shown to the person who approves, so it must not look like anything but a name. */
export function shownName(text: string | undefined): string | null {
  const name =
    text
      ?.replaceAll(/[^\p{L}\p{N}._ -]/gu, "")
      .trim()
      .slice(0, maxNameLength) ?? "";
  return name === "" ? null : name;
}

export function invalidForm(): Response {
  return oauthError("invalid_request", "Send each parameter once, as application/x-www-form-urlencoded.");
}

export function tooMany(description: string, waitSeconds: number): Response {
  const headers = { "retry-after": String(waitSeconds) };
  return json({ error: "slow_down", error_description: description }, 429, headers);
}

export function oauthError(error: string, description: string): Response {
  return json({ error, error_description: description }, 400);
}

/** Null while the address can guess. A correct code or token is always accepted: other people may share the address. */
export function rejectGuess({ guard }: Pick<AdminDeps, "guard">, address: string): Response | null {
  const guesser = `device ${address}`;
  const waitSeconds = guard.deviceGuesses.waitSeconds(guesser);
  if (waitSeconds > 0) return tooMany("Too many unknown codes or tokens from this address.", waitSeconds);
  guard.deviceGuesses.failed(guesser);
  return null;
}
