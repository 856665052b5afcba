import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { addByIndex, type Growing } from "./growing.ts";

/** Responses of Gemini's `streamGenerateContent`. Each has some parts of the whole response. */
export class GeminiJoiner {
  #head: JsonObject | null = null;
  readonly #candidates: Growing[] = [];
  #error: Json = null;

  add(event: JsonObject): void {
    const { candidates, error, ...head } = event;
    if (error !== undefined && error !== null) this.#error = error;
    else this.#head = { ...this.#head, ...head };
    if (!Array.isArray(candidates)) return;
    for (const candidate of candidates) if (isObject(candidate)) this.#addCandidate(candidate);
  }

  #addCandidate({ content, ...rest }: JsonObject): void {
    const { index } = rest;
    const candidate = addByIndex(this.#candidates, typeof index === "number" ? index : 0, {});
    Object.assign(candidate, rest);
    if (!isObject(content)) return;
    const { parts, ...more } = content;
    const known = isObject(candidate["content"]) ? candidate["content"] : {};
    const all = Array.isArray(known["parts"]) ? known["parts"] : [];
    for (const part of Array.isArray(parts) ? parts : []) addPart(all, part);
    candidate["content"] = { ...known, ...more, parts: all };
  }

  joined(): Json {
    const error = this.#error === null ? {} : { error: this.#error };
    if (this.#head === null) return this.#error === null ? null : error;
    return { candidates: this.#candidates.filter(Boolean), ...this.#head, ...error };
  }
}

/** Text continues the previous part if both are thoughts, or neither is. */
function addPart(parts: Json[], part: Json): void {
  const last = parts.at(-1);
  const isContinued =
    isObject(part) &&
    isObject(last) &&
    typeof part["text"] === "string" &&
    typeof last["text"] === "string" &&
    part["thought"] === last["thought"];
  if (!isContinued) parts.push(isObject(part) ? { ...part } : part);
  else Object.assign(last, part, { text: `${last["text"]}${part["text"]}` });
}
