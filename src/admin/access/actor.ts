const shownCharacters = 8;

/**
 * The audit log's name for a user of the first token. Several people may share that token, so the name identifies the session:
 * it is a hash of the session's id, stable for the session and useless as a credential.
 */
export function actorName(session: string | null): string {
  if (session === null) return "token";
  const hash = new Bun.CryptoHasher("sha256").update(`audit ${session}`).digest("hex");
  return `session ${hash.slice(0, shownCharacters)}`;
}

/** Commands on this machine in the audit log; then the address is the system's user. */
export const localName = "cli";
