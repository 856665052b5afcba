import { ownSecrets } from "../base/secrets/secrets.ts";

/** Without the global flag, which is stateful. Key prefixes are shorter, and not secret. */
const ownSecret = new RegExp(ownSecrets.source);
const ownMark = Buffer.from("slu");

/** Finds and removes secrets. */
export class Redactor {
  /** Plain, and escaped as in JSON: text can be JSON itself, such as a tool's arguments. */
  readonly #secrets: readonly string[];
  /** Matches the secrets in the bytes of JSON. */
  readonly #written: readonly Buffer[];

  constructor(secrets: readonly string[]) {
    const forms = withEscaped(secrets);
    // The longest first, since it may contain a shorter one.
    this.#secrets = forms.toSorted((one, other) => other.length - one.length);
    this.#written = withEscaped(forms).map((form) => Buffer.from(form));
  }

  /** Whether JSON can contain a secret from this index on. Does not detect secrets behind `\u` and `\/`. */
  isSuspectJson(json: Buffer, from: number): boolean {
    if (this.#written.some((form) => json.includes(form, from))) return true;
    return json.includes(ownMark, from) && ownSecret.test(json.toString("latin1", from));
  }

  /** Text can itself be JSON, with a secret hidden behind escapes. */
  readonly clean = (text: string): string => {
    const clean = this.#replace(text);
    const unescaped = withoutEscapes(clean);
    return unescaped !== clean && this.#isSuspect(unescaped) ? this.#replace(unescaped) : clean;
  };

  /** The JSON forms of a secret include all its forms within a text. */
  #isSuspect(text: string): boolean {
    return this.isSuspectJson(Buffer.from(text), 0);
  }

  #replace(text: string): string {
    if (!this.#isSuspect(text)) return text;
    let rest = text.replace(ownSecrets, "[secret]");
    for (const secret of this.#secrets) rest = rest.replaceAll(secret, "[secret]");
    return rest;
  }
}

/** The texts, and what is different inside of a JSON string: a private key has line feeds. */
function withEscaped(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]))];
}

/** A match begins at the first of several backslashes. Otherwise a text of backslashes would be scanned from each of them. */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text
    .replace(/(?<!\\)\\+u([0-9a-fA-F]{4})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll(/(?<!\\)\\+\//g, "/");
}
