import { Type } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { reject } from "../../contract/field-decisions.ts";
import { maxChoices } from "../../contract/output-limit.ts";
import { listOf, objectOf } from "../../json/json-fields.ts";
import { anyObject, arrayOfObjects, modelName, optional, streamFlag } from "../../schema/fields.ts";
import { readProtoJson } from "./proto-json.ts";

const content = Type.Object({ role: optional(Type.String()), parts: arrayOfObjects });

/** As Google documents it. `model` and `stream` come from the path. */
export const documentedRequest = Type.Object({
  contents: Type.Array(content, { minItems: 1 }),
  systemInstruction: optional(content),
  tools: optional(arrayOfObjects),
  toolConfig: optional(anyObject),
  generationConfig: optional(anyObject),
  serviceTier: optional(Type.String()),
});

/** Fields have two spellings, so all others are checked once these are read. */
export const requestSchema = Type.Object({ model: modelName, stream: optional(streamFlag) });

export const documentedResponse = Type.Object({
  candidates: Type.Optional(arrayOfObjects),
  usageMetadata: Type.Optional(anyObject),
  modelVersion: Type.Optional(Type.String()),
  responseId: Type.Optional(Type.String()),
});

const roles: ReadonlySet<Json> = new Set(["user", "model", "function"]);

/** Throws for what Google itself would reject, as far as the gateway reads it. */
export function checkBody(sent: JsonObject): void {
  const body = readProtoJson(sent);
  const { contents, systemInstruction, tools, serviceTier } = body;
  const turns = listOf(contents);
  if (turns.length === 0) reject("contents", "must have at least one content");
  turns.forEach(checkContent);
  for (const tool of listOf(tools)) if (!isObject(tool)) reject("tools", "must be a list of objects");
  for (const field of ["systemInstruction", "toolConfig", "generationConfig"])
    if (!isAbsent(body[field]) && !isObject(body[field])) reject(field, "must be an object");
  const instructions = listOf(objectOf(systemInstruction)?.["parts"]);
  if (!instructions.every(isObject)) reject("systemInstruction.parts", "must be a list of parts");
  if (!isAbsent(serviceTier) && typeof serviceTier !== "string") reject("serviceTier", "must be a string");
  checkConfig(objectOf(body["generationConfig"]) ?? {});
}

function checkContent(turn: Json, index: number): void {
  const path = `contents[${index}]`;
  if (!isObject(turn)) reject(path, "must be an object");
  const { role = null, parts } = turn;
  if (role !== null && !roles.has(role)) reject(`${path}.role`, "must be `user`, `model` or `function`");
  const all = listOf(parts);
  if (all.length === 0 || !all.every(isObject))
    reject(`${path}.parts`, "must be a list of at least one part");
}

function checkConfig({ maxOutputTokens, candidateCount, responseModalities }: JsonObject): void {
  const prefix = "generationConfig.";
  if (!isAbsent(maxOutputTokens) && !isCount(maxOutputTokens))
    reject(`${prefix}maxOutputTokens`, "must be a whole number above 0");
  if (!isAbsent(candidateCount) && !(isCount(candidateCount) && candidateCount <= maxChoices))
    reject(`${prefix}candidateCount`, `must be a whole number from 1 to ${maxChoices}`);
  // Proto JSON takes the numbers of an enum for its names.
  if (listOf(responseModalities).some((modality) => typeof modality !== "string"))
    reject(`${prefix}responseModalities`, "must be a list of strings");
}

function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}

/** Google reads `"64000"` as a number, too. */
export function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
