import type { Target } from "../translation/translation.ts";
import { shorten } from "./names.ts";

/**
 * The ids of calls as the target takes them. Chat providers invent freely (`functions.Bash:0`), Anthropic
 * wants letters, digits, `_` and `-`, OpenAI at most 40 characters on chat and 64 on responses. The same id
 * always becomes the same, so that a result still finds its call.
 */
export function callIdFor(target: Target): (id: string) => string {
  if (target.dialect === "messages") {
    return (id) => (/^[a-zA-Z0-9_-]+$/.test(id) ? id : shorten(id.replace(/[^a-zA-Z0-9_-]/g, "_"), id, 64));
  }
  if (target.dialect === "responses") return (id) => (id.length > 64 ? shorten(id, id, 64) : id);
  return target.kind === "openai" ? (id) => (id.length > 40 ? shorten(id, id, 40) : id) : (id) => id;
}
