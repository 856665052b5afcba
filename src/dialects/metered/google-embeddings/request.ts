import { invalidRequest } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { repeated } from "../../../base/proto-json.ts";
import { reject } from "../../contract/field-decisions.ts";
import { isCount } from "../../gemini/client/check-body.ts";
import { idOf, readPath } from "../../gemini/client/path.ts";
import { readProtoJson } from "../../gemini/client/proto-json.ts";
import { hasMoreValues } from "../../json/json-bytes.ts";
import { objectOf } from "../../json/json-fields.ts";
import { scanTopLevel } from "../../json/json-spans.ts";
import { parseWhole } from "../../json/parse-body.ts";

/** What a request says that OpenAI's form has no name for. */
export interface GoogleForm {
  /** Whether the answer has a list of vectors, or the only one. */
  readonly isList: boolean;
  /** The other fields of each request, such as `taskType` and `title`. */
  readonly options: readonly JsonObject[];
}

/** The member of a body that has them. */
const formMember = "embedContent";

const maxRequests = 100;
/** A hundred requests have far fewer. */
const maxValues = 10_000;

/** One request for a vector. */
interface Wanted {
  readonly text: string;
  readonly dimensions: number | null;
  readonly options: JsonObject;
}

/** `embedContent` or `batchEmbedContents` as a request of OpenAI's form. From there on it is like any other. */
export function asEmbeddings(sent: Uint8Array, path: string): Uint8Array {
  const facts = readPath(path);
  // Both reject what takes long to parse.
  if (hasMoreValues(sent, null, maxValues))
    throw invalidRequest(`The request body has more than ${maxValues} list items and object members.`);
  scanTopLevel(sent);
  const body = readProtoJson(parseWhole(sent));
  const model = facts?.model ?? "";
  const isList = facts?.method === "embedAll";
  const wanted = isList ? readList(body, model) : [readOne(body, model, "")];
  const form: GoogleForm = { isList, options: wanted.map(({ options }) => options) };
  const dimensions = sameDimensions(wanted);
  return Buffer.from(
    JSON.stringify({
      model,
      input: wanted.map(({ text }) => text),
      encoding_format: "float",
      ...(dimensions === null ? {} : { dimensions }),
      [formMember]: form,
    }),
  );
}

/** Null if a body has none: another request of the route's kind. */
export function splitForm(body: JsonObject): { readonly plain: JsonObject; readonly form: GoogleForm } {
  const { [formMember]: own, ...plain } = body;
  const { isList, options } = objectOf(own) ?? {};
  return { plain, form: { isList: isList === true, options: repeated(options).filter(isObject) } };
}

export function withForm(plain: JsonObject, { isList, options }: GoogleForm): JsonObject {
  return { ...plain, [formMember]: { isList, options: [...options] } };
}

/** The change that takes Google's part out of a body. */
export const withoutForm = { [formMember]: undefined } as const;

function readList({ requests, ...others }: JsonObject, model: string): readonly Wanted[] {
  namesModel(others, model, "");
  const all = repeated(requests);
  if (all.length === 0) reject("requests", "must have at least one request");
  if (all.length > maxRequests) reject("requests", `has ${all.length} requests, more than ${maxRequests}`);
  return all.map((request, index) => {
    const path = `requests[${index}]`;
    return isObject(request) ? readOne(request, model, `${path}.`) : reject(path, "must be an object");
  });
}

function readOne(request: JsonObject, model: string, path: string): Wanted {
  namesModel(request, model, path);
  const { model: _, content, outputDimensionality, embedContentConfig, ...options } = request;
  const { outputDimensionality: configured, ...config } = objectOf(embedContentConfig) ?? {};
  const dimensions = outputDimensionality ?? configured ?? null;
  if (dimensions !== null && !isCount(dimensions))
    reject(`${path}outputDimensionality`, "must be a whole number above 0");
  return { text: textOf(content, `${path}content`), dimensions, options: { ...config, ...options } };
}

/** Only texts have a price. */
function textOf(content: Json | undefined, path: string): string {
  const parts = repeated(objectOf(content)?.["parts"]);
  const [part] = parts;
  if (parts.length !== 1 || !isObject(part)) reject(`${path}.parts`, "must be a list of one text");
  const { text, ...others } = part;
  if (typeof text !== "string" || Object.keys(others).length > 0)
    reject(`${path}.parts[0]`, "must be a text: only texts are embedded");
  return text;
}

function namesModel({ model: named }: JsonObject, model: string, path: string): void {
  if (named === undefined || (typeof named === "string" && idOf(named) === model)) return;
  throw invalidRequest(
    `\`${path}model\` is another model than the path's. Remove it from the body.`,
    `${path}model`,
  );
}

/** Providers take one size for all texts of a call. */
function sameDimensions(wanted: readonly Wanted[]): number | null {
  const [first = null, ...others] = new Set(wanted.map(({ dimensions }) => dimensions));
  if (others.length === 0) return first;
  return reject("requests[].outputDimensionality", "must be the same in all requests");
}
