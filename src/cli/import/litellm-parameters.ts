import type { JsonObject } from "../../base/json.ts";
import { textOf } from "./litellm-model-info.ts";

/** Settings of a provider in the names of our configuration, in writing order. */
export type CloudSettings = Readonly<Record<string, string | null>>;

const environmentMark = "os.environ/";

/** The `litellm_params` of a deployment, and notes about what could not be converted. */
export class LiteLlmParameters {
  readonly notes: string[] = [];
  readonly #parameters: JsonObject;
  readonly #read = new Set<string>();
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(parameters: JsonObject, env: Readonly<Record<string, string | undefined>>) {
    this.#parameters = parameters;
    this.#env = env;
  }

  /** As written in the file; null if it is missing. */
  text(name: string): string | null {
    this.#read.add(name);
    return textOf(this.#parameters[name]);
  }

  /** A value that is copied unchanged. The value of a variable is looked up; an unset one is reported. */
  plain(name: string): string | null {
    const text = this.text(name);
    if (text === null || !text.startsWith(environmentMark)) return text;
    const variable = text.slice(environmentMark.length);
    const value = this.#env[variable];
    if (value !== undefined && value !== "") return value;
    this.notes.push(`${name} is in ${variable}, which is not set here; set it`);
    return "enter-its-value";
  }

  /** A reference to a secret. A secret that is written in the file itself is not copied; a note explains where to put it. */
  secret(name: string, variable: string): string | null {
    const text = this.text(name);
    if (text === null) return null;
    if (text.startsWith(environmentMark)) return `env:${text.slice(environmentMark.length)}`;
    this.notes.push(`its ${name} is written in the file; set ${variable} instead`);
    return `env:${variable}`;
  }

  /** The names of the parameters that were not read. */
  unread(): string[] {
    return Object.keys(this.#parameters).filter((name) => !this.#read.has(name));
  }

  markRead(names: Iterable<string>): void {
    for (const name of names) this.#read.add(name);
  }
}
