import { invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { attachmentOf } from "../../catalog/attachments.ts";
import type { ModelSettings } from "../../config/settings.ts";

/** Rejects what the operator has declared that the model cannot do, before anything is held or sent. */
export function rejectIncapable(
  body: JsonObject,
  { id, capabilities }: Pick<ModelSettings, "id" | "capabilities">,
): void {
  const { tools } = body;
  if (capabilities["tools"] === false && Array.isArray(tools) && tools.length > 0) {
    throw invalidRequest(`${id} does not support tools; leave \`tools\` out.`, "tools");
  }
  if (capabilities["vision"] !== false) return;
  const field = "input" in body ? "input" : "messages";
  if (!hasImage(body[field], deepestImage)) return;
  throw invalidRequest(`${id} cannot read images. Send text only, or use a model with vision.`, field);
}

/** Messages, the content of one, and the content of a tool's result in that. */
const deepestImage = 3;

function hasImage(blocks: Json | undefined, levelsLeft: number): boolean {
  if (!Array.isArray(blocks) || levelsLeft === 0) return false;
  return blocks.some((block) => isObject(block) && (isImage(block) || hasImageWithin(block, levelsLeft - 1)));
}

function isImage({ type }: JsonObject): boolean {
  return attachmentOf(type) === "image";
}

/** A screenshot is the `output` itself. */
function hasImageWithin({ content, output }: JsonObject, levelsLeft: number): boolean {
  if (isObject(output) && isImage(output)) return true;
  return hasImage(content, levelsLeft) || hasImage(output, levelsLeft);
}
