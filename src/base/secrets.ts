/**
 * Every secret that was read from the environment or from a file. What strangers say is quoted here and there,
 * to clients and in the log, and a careless provider quotes the key it was given: whoever passes a stranger's
 * words on asks this list first. A secret is never forgotten, because an answer may come after a reload.
 */
const known = new Set<string>();

/** Shorter ones guard nothing, and would be found inside of innocent words. */
const shortest = 6;

export function rememberSecret(secret: string): void {
  if (secret.length >= shortest) known.add(secret);
}

export function withoutSecrets(text: string): string {
  let rest = text;
  for (const secret of known) if (rest.includes(secret)) rest = rest.replaceAll(secret, "[secret]");
  return rest;
}
