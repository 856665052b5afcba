/**
 * Every secret that was read from the environment or from a file. Providers' messages are quoted to clients and in the
 * log, and a careless provider echoes the key it was sent, so quoted text is redacted with this list. Secrets are
 * never removed from it, because an answer may arrive after a reload.
 */
const known = new Set<string>();

/** Shorter secrets protect nothing, and would match parts of ordinary words. */
const shortest = 6;

export function rememberSecret(secret: string): void {
  if (secret.length >= shortest) known.add(secret);
}

export function withoutSecrets(text: string): string {
  let rest = text;
  for (const secret of known) if (rest.includes(secret)) rest = rest.replaceAll(secret, "[secret]");
  return rest;
}
