/** Sluice's own keys and admin tokens, of which only hashes are known. */
const ownSecrets = /slua?_[0-9A-Za-z]{30,}/g;
/** Without the global flag, which is stateful. Key prefixes are shorter, and not secret. */
const ownSecret = new RegExp(ownSecrets.source);

/** Finds and removes secrets. */
export class Redactor {
  readonly #secrets: readonly string[];
  /** Including their UTF-8 bytes read as Latin-1. */
  readonly #forms: readonly string[];

  constructor(secrets: readonly string[]) {
    // Longest first: a shorter secret may be part of a longer one.
    this.#secrets = secrets.toSorted((one, other) => other.length - one.length);
    this.#forms = [...new Set([...secrets, ...secrets.map(bytesAsText)])];
  }

  /** Whether text, or bytes read as Latin-1, can hold a secret. Does not see secrets behind JSON escapes. */
  isSuspect(text: string): boolean {
    return ownSecret.test(text) || this.#forms.some((form) => text.includes(form));
  }

  /** Text can be JSON itself, such as a tool's arguments, and hide a secret behind escapes. */
  readonly clean = (text: string): string => {
    const clean = this.#replace(text);
    const unescaped = withoutEscapes(clean);
    return unescaped !== clean && this.isSuspect(unescaped) ? this.#replace(unescaped) : clean;
  };

  #replace(text: string): string {
    if (!this.isSuspect(text)) return text;
    let rest = text.replace(ownSecrets, "[secret]");
    for (const secret of this.#secrets) rest = rest.replaceAll(secret, "[secret]");
    return rest;
  }
}

function bytesAsText(secret: string): string {
  return Buffer.from(secret).toString("latin1");
}

function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text
    .replace(/\\+u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\+\//g, "/");
}
