import { decoded } from "../text/decoded.ts";

/** Sluice's own keys, admin tokens, sessions, device codes and refresh tokens, of which only hashes are stored. */
export const ownSecrets = /(?:slu[ads]?|slr)_[0-9A-Za-z]{30,}/g;

/**
 * Every secret that was read from the environment or from a file. Providers' messages are quoted to clients and in the
 * log, and a careless provider echoes the key it was sent, so quoted text is redacted with this list. Secrets are never
 * removed from it, because a response may arrive after a reload. It also has their forms within base64, for the header
 * of basic authentication.
 */
const known = new Set<string>();

/**
 * Tokens that were issued to the gateway. They live for about an hour, and only the latest are listed. They never occur
 * in basic authentication, and are so many that their base64 forms would make masking slow.
 */
const issued = new Set<string>();
const maxIssued = 256;

/** Names of the operator's accounts, projects and resources: no secrets, but nothing that clients should see. */
let accounts: readonly AccountName[] = [];

interface AccountName {
  readonly name: string;
  readonly pattern: RegExp;
}

/** Shorter secrets protect nothing, and would match parts of ordinary words. */
const shortest = 6;

/** Changes with the list. */
let revision = 0;

export function rememberSecret(secret: string): void {
  if (secret.length < shortest || known.has(secret)) return;
  for (const form of [secret, ...base64Forms(secret)]) known.add(form);
  revision += 1;
}

/** The password in an address, such as a proxy's or a database's. */
export function rememberPasswordIn(address: string): void {
  const password = URL.parse(address)?.password ?? "";
  rememberSecret(password);
  rememberSecret(decoded(password));
}

/** All known secrets, for a thread that redacts by itself. Its list is outdated once the revision changes. */
export function knownSecrets(): { readonly revision: number; readonly all: () => string[] } {
  return { revision, all: () => [...known, ...issued] };
}

export function rememberIssuedSecret(secret: string): void {
  if (secret.length < shortest) return;
  // A secret that is in use is issued again, and must not be the oldest.
  if (!issued.delete(secret)) revision += 1;
  issued.add(secret);
  const [oldest] = issued;
  if (issued.size > maxIssued && oldest !== undefined) issued.delete(oldest);
}

export function rememberAccountName(name: string): void {
  if (name.length < shortest || accounts.some((known) => known.name === name)) return;
  const pattern = new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`, "g");
  // Longest first: a shorter name may be part of a longer one.
  accounts = [...accounts, { name, pattern }].sort((one, other) => other.name.length - one.name.length);
}

/** Masks secrets, and no names of the operator's accounts: a label can be one. */
export function maskSecrets(text: string): string {
  let rest = text.replace(ownSecrets, "[secret]");
  for (const secret of known) if (rest.includes(secret)) rest = rest.replaceAll(secret, "[secret]");
  for (const secret of issued) if (rest.includes(secret)) rest = rest.replaceAll(secret, "[secret]");
  return rest;
}

export function withoutSecrets(text: string): string {
  let rest = maskSecrets(text);
  for (const { name, pattern } of accounts)
    if (rest.includes(name)) rest = rest.replace(pattern, "[account]");
  return rest;
}

/** How many characters at the start also encode bytes in front of the secret, by the number of these bytes modulo three. */
const sharedChars = [0, 2, 3] as const;

/**
 * The forms of a secret within base64, in both alphabets: base64 encodes three bytes at a time, so they depend on the
 * bytes before it. A character at either end that also encodes a neighbor is not part of a form.
 */
export function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const forms = sharedChars.flatMap((shared, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const form = encoded.slice(shared, Math.floor(((before + bytes.length) * 8) / 6));
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...new Set(forms)];
}
