import { asBuffer } from "../../../base/bytes.ts";
import { tableOf } from "../../../base/collections/table.ts";
import { invalidRequest } from "../../../base/errors.ts";
import { tryParse } from "../../../base/json.ts";
import type { PathFacts } from "../../contract/client-dialect.ts";
import { closeBrace, openBrace, skipSpace } from "../../json/json-bytes.ts";
import { scanObject } from "../../json/json-spans.ts";
import { patchMembers } from "../../json/patch.ts";

/** The method follows the last colon: ids may have colons, too. */
const form = /^(?:\/token)?\/v1(?:beta1?|alpha)?\/(?<name>.+)(?::|%3A)(?<method>\w+)$/i;

/** Vertex AI's names of models. Project and location are ignored. */
const vertex = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/(?<publisher>[^/]+)\/models\/(?<id>.+)$/;

const methods = tableOf<PathFacts["method"]>({
  generateContent: "generate",
  streamGenerateContent: "stream",
  countTokens: "count",
  embedContent: "embed",
  batchEmbedContents: "embedAll",
});

/** Ids may have slashes, which are sent as they are or encoded. */
export function readPath(path: string): PathFacts | null {
  const { name, method = "" } = form.exec(path)?.groups ?? {};
  const decoded = name === undefined ? null : decode(name);
  const { [method]: known } = methods;
  return decoded === null || known === undefined ? null : { model: idOf(decoded), method: known };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The AI SDK sends an id with a slash without `models/`. */
export function idOf(name: string): string {
  const { publisher, id } = vertex.exec(name)?.groups ?? {};
  if (id === undefined) return name.replace(/^models\//, "");
  return publisher === "google" ? id : `${publisher}/${id}`;
}

/** Behind the opening brace: from there on a request is like any other. */
export function addPathFacts(sent: Uint8Array, path: string): Uint8Array {
  const facts = readPath(path);
  if (facts === null || sent[skipSpace(sent, 0)] !== openBrace)
    throw invalidRequest("The request body must be a JSON object.");
  const { model, method } = facts;
  const bytes = withoutModel(method === "count" ? countedRequest(sent) : sent, model);
  const at = skipSpace(bytes, 0) + 1;
  const isEmpty = bytes[skipSpace(bytes, at)] === closeBrace;
  const members = `"model":${JSON.stringify(model)},"stream":${method === "stream"}${isEmpty ? "" : ","}`;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(members), bytes.subarray(at)]);
}

/** A body that names its model has to name the path's. */
function withoutModel(bytes: Uint8Array, model: string): Uint8Array {
  const [member] = scanObject(bytes, skipSpace(bytes, 0), ["model"]).members;
  if (member === undefined) return bytes;
  const named = tryParse(asBuffer(bytes).toString("utf8", member.valueStart, member.end));
  if (typeof named !== "string" || idOf(named) !== model)
    throw invalidRequest("`model` is another model than the path's. Remove it from the body.", "model");
  return patchMembers(bytes, { model: undefined });
}

/** A count is of contents, or of a whole request. */
function countedRequest(bytes: Uint8Array): Uint8Array {
  const names = ["generateContentRequest", "generate_content_request", "contents"];
  const [whole, other] = scanObject(bytes, skipSpace(bytes, 0), names).members;
  if (whole === undefined || (whole.name === "contents" && other === undefined)) return bytes;
  if (other !== undefined || bytes[whole.valueStart] !== openBrace)
    throw invalidRequest("Send `contents` or `generateContentRequest`, not both.", "generateContentRequest");
  return bytes.subarray(whole.valueStart, whole.end);
}
