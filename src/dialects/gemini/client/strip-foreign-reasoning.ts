import { isObject, type JsonObject } from "../../../base/json.ts";
import { changeParts, fieldOf } from "../../../base/proto-json.ts";
import { stringOf } from "../../json/json-fields.ts";
import { anySignature } from "../../reasoning/google-signature.ts";
import { holds } from "../../reasoning/reasoning-envelope.ts";
import { isForeign } from "./signature.ts";

/** An envelope in base64, whose first characters do not depend on what follows. */
const mark = Buffer.from("c2x1MS");

export function mayHoldForeignReasoning(bytes: Uint8Array): boolean {
  return holds(bytes, mark);
}

/** Returns the same body if there is nothing to strip. Google rejects calls without a signature, so they get its placeholder. */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  return changedParts(body, (part) => (isForeign(signatureIn(part)) ? withoutSignature(part) : part));
}

/** Every call gets the placeholder: some clients send none. */
export function stripSignedReasoning(body: JsonObject): JsonObject {
  return changedParts(body, (part) => {
    const isDone = signatureIn(part) === (isCall(part) ? anySignature : "");
    return isDone ? part : withoutSignature(part);
  });
}

export function holdsState({ contents }: JsonObject): boolean {
  return changeParts(contents, (part) => (signatureIn(part) === "" ? part : {})) !== contents;
}

function changedParts(body: JsonObject, change: (part: JsonObject) => JsonObject): JsonObject {
  const contents = changeParts(body["contents"], change);
  return contents === body["contents"] ? body : { ...body, contents };
}

function signatureIn(part: JsonObject): string {
  return stringOf(fieldOf(part, "thoughtSignature")) ?? "";
}

function isCall(part: JsonObject): boolean {
  return isObject(fieldOf(part, "functionCall"));
}

function withoutSignature({ thoughtSignature: _, thought_signature: __, ...part }: JsonObject): JsonObject {
  return isCall(part) ? { ...part, thoughtSignature: anySignature } : part;
}
