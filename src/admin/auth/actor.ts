import type { Actor } from "./guard.ts";

const shownCharacters = 8;

/**
 * Who did something, for the audit log. There is one admin token, so people are told apart by their session: each has
 * a name from the hash of its id, which is the same from sign-in on and opens nothing.
 */
export function actorName(actor: Actor, session: string | null): string {
  if (actor === "token" || session === null) return actor;
  const hash = new Bun.CryptoHasher("sha256").update(`audit ${session}`).digest("hex");
  return `session ${hash.slice(0, shownCharacters)}`;
}
