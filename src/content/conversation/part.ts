import { isObject, type Json, type JsonObject, tryParse } from "../../base/json.ts";

/** A part of a message, as OpenTelemetry's conventions for generative AI write it. */
export type GenAiPart =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "reasoning"; readonly content: string }
  | {
      readonly type: "tool_call";
      readonly id: string | null;
      readonly name: string;
      readonly arguments: Json;
    }
  | { readonly type: "tool_call_response"; readonly id: string | null; readonly response: Json }
  | { readonly type: "uri"; readonly modality: string; readonly uri: string }
  | {
      readonly type: "data";
      readonly modality: string;
      readonly mime_type: string;
      readonly bytes: number;
      readonly sha256: string;
    }
  /** Anything else, unchanged. */
  | { readonly type: "other"; readonly name: string; readonly value: Json };

export function textIn(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function listIn(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The parts of a message: a text, or a list of blocks of any of the formats. */
export function partsOf(content: Json | undefined): readonly GenAiPart[] {
  if (typeof content === "string") return textPart(content);
  return listIn(content).flatMap((block) =>
    typeof block === "string" ? textPart(block) : blockParts(block),
  );
}

export function textPart(content: string): readonly GenAiPart[] {
  return content === "" ? [] : [{ type: "text", content }];
}

export function reasoningPart(content: string): readonly GenAiPart[] {
  return content === "" ? [] : [{ type: "reasoning", content }];
}

/** A call of a tool, in any of the formats. Arguments that are JSON in a text are read. */
export function callPart(call: JsonObject): GenAiPart {
  const definition = isObject(call["function"])
    ? call["function"]
    : isObject(call["custom"])
      ? call["custom"]
      : call;
  const input = definition["arguments"] ?? definition["input"] ?? call["action"] ?? null;
  const read = typeof input === "string" ? (tryParse(input) ?? input) : input;
  const id = textIn(call["call_id"]) || textIn(call["id"]);
  const name = textIn(definition["name"]) || textIn(call["type"]).replace(/_call$/, "");
  return { type: "tool_call", id: id || null, name, arguments: read };
}

export function resultPart(id: Json | undefined, response: Json | undefined): GenAiPart {
  return { type: "tool_call_response", id: textIn(id) || null, response: response ?? null };
}

/** The parts of one block. */
function blockParts(block: Json): readonly GenAiPart[] {
  if (!isObject(block)) return [{ type: "other", name: "value", value: block }];
  const type = textIn(block["type"]);
  if (/^(?:(?:input_|output_|summary_|reasoning_)?text)$/.test(type)) return textPart(textIn(block["text"]));
  if (type === "refusal") return textPart(textIn(block["refusal"]));
  if (type === "thinking") return reasoningPart(textIn(block["thinking"]));
  if (/tool_use$/.test(type)) return [callPart(block)];
  if (/tool_result$/.test(type)) return [resultPart(block["tool_use_id"], block["content"])];
  return [mediumOf(block, type) ?? { type: "other", name: type || "value", value: block }];
}

const modalities: readonly (readonly [RegExp, string])[] = [
  [/image/, "image"],
  [/audio|sound/, "audio"],
  [/video/, "video"],
  [/file|document|pdf/, "file"],
];

/** An image, a sound or a file: the digest of its data, or its address. Null if the block is neither. */
export function mediumOf(block: JsonObject, type: string): GenAiPart | null {
  const modality = modalities.find(([names]) => names.test(type))?.[1];
  if (modality === undefined) return null;
  const found = mediumIn(block, 0);
  if (typeof found === "string") return { type: "uri", modality, uri: found };
  if (found === null) return null;
  const { type: mime, bytes, sha256 } = found;
  return { type: "data", modality, mime_type: textIn(mime), bytes: Number(bytes), sha256: textIn(sha256) };
}

function mediumIn(value: JsonObject, depth: number): JsonObject | string | null {
  for (const [name, each] of Object.entries(value)) {
    if (typeof each === "string" && /url$|uri$|^file_id$/.test(name)) return each;
    if (!isObject(each)) continue;
    if (typeof each["sha256"] === "string") return each;
    const within = depth < 3 ? mediumIn(each, depth + 1) : null;
    if (within !== null) return within;
  }
  return null;
}
