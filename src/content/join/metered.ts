import type { Json, JsonObject } from "../../base/json.ts";

/** Events of other routes, such as transcriptions and images: the last event has all of it, or the pieces of its text are joined. */
export class MeteredJoiner {
  #whole: JsonObject | null = null;
  #text = "";
  #hasText = false;
  #error: Json = null;

  add(event: JsonObject): void {
    const { type, delta, error } = event;
    if (error !== undefined && error !== null) this.#error = error;
    if (typeof type === "string" && /\.(done|completed)$/.test(type)) this.#whole = event;
    if (typeof delta !== "string") return;
    this.#hasText = true;
    this.#text += delta;
  }

  joined(): Json {
    const error = this.#error === null ? {} : { error: this.#error };
    if (this.#whole !== null) return { ...this.#whole, ...error };
    if (this.#hasText) return { text: this.#text, ...error };
    return this.#error === null ? null : error;
  }
}
