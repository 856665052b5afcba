const shownCharacters = 8;

/**
 * The name in the audit log of whoever used the first token, which several people may share: so they are told apart by their
 * session. The name is a hash of the session's id, stable for the session and useless as a credential.
 */
export function actorName(session: string | null): string {
  if (session === null) return "token";
  const hash = new Bun.CryptoHasher("sha256").update(`audit ${session}`).digest("hex");
  return `session ${hash.slice(0, shownCharacters)}`;
}
