import type { Actor } from "./guard.ts";

const shownCharacters = 8;

/**
 * The name of the actor in the audit log. There is only one admin token, so operators are distinguished by their
 * session: the name is a hash of the session id, stable for the session and useless as a credential.
 */
export function actorName(actor: Actor, session: string | null): string {
  if (actor === "token" || session === null) return actor;
  const hash = new Bun.CryptoHasher("sha256").update(`audit ${session}`).digest("hex");
  return `session ${hash.slice(0, shownCharacters)}`;
}
