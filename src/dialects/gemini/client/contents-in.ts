import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject, unsupported } from "../../contract/field-decisions.ts";
import type { IrAssistantBlock, IrContent, IrMessage, IrToolResult, IrUserBlock } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readSignature } from "./signature.ts";

/** Turns of one role after the other are one turn: results may come in several. */
export function readContents(contents: readonly JsonObject[], dropped: DroppedFields): IrMessage[] {
  const turns = new Turns(dropped);
  for (const [index, content] of contents.entries()) turns.add(content, index);
  return turns.messages;
}

/** Members that say something of the content of a part. */
const besideContent: ReadonlySet<string> = new Set(["thought", "thoughtSignature", "partMetadata"]);

interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** A part of a turn, and its path in the client's body. */
interface Placed {
  readonly part: JsonObject;
  readonly path: string;
}

class Turns {
  readonly messages: IrMessage[] = [];
  readonly #dropped: DroppedFields;
  /** Calls of the last turn of the model that have no result yet. */
  #open: OpenCall[] = [];

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped;
  }

  add({ role, parts }: JsonObject, index: number): void {
    const placed = objectsOf(parts).map((part, at) => ({ part, path: `contents[${index}].parts[${at}]` }));
    if (role === "model") this.#model(placed);
    else this.#user(placed.flatMap((each) => this.#userPart(each)));
  }

  /**
   * Thoughts are read from signatures alone: their text is there, too. They begin the turn, as the provider wrote it: their signature
   * is with the first call, or with the last text, which may follow others.
   */
  #model(placed: readonly Placed[]): void {
    const last = this.messages.at(-1);
    const continued = last?.role === "assistant" ? last.blocks : null;
    if (continued === null) this.#open = [];
    const reasoning = placed.flatMap(({ part }) => readSignature(stringOf(part["thoughtSignature"]) ?? ""));
    const blocks = placed.flatMap((each) => this.#modelPart(each));
    if (continued !== null) this.messages.pop();
    const earlier = continued ?? [];
    const said = earlier.findIndex(({ type }) => type !== "reasoning");
    const begin = said === -1 ? earlier.length : said;
    const all = [...earlier.slice(0, begin), ...reasoning, ...joined([...earlier.slice(begin), ...blocks])];
    if (all.length > 0) this.messages.push({ role: "assistant", blocks: all });
  }

  #user(blocks: readonly IrUserBlock[]): void {
    const last = this.messages.at(-1);
    const continued = last?.role === "user" ? last.blocks : null;
    if (continued !== null) this.messages.pop();
    const all = [...(continued ?? []), ...blocks];
    if (all.length > 0) this.messages.push({ role: "user", blocks: all });
  }

  #modelPart({ part, path }: Placed): IrAssistantBlock[] {
    const { text, thought } = part;
    const call = objectOf(part["functionCall"]);
    if (call !== null) return [this.#call(call, path)];
    if (typeof text === "string") return text === "" || thought === true ? [] : [{ type: "text", text }];
    this.#drop(part);
    return [];
  }

  #call({ id, name, args }: JsonObject, path: string): IrAssistantBlock {
    const called = stringOf(name) ?? reject(`${path}.functionCall.name`, "must be the name of the function");
    const open = { id: stringOf(id) || `call_${Bun.hash.xxHash32(path).toString(16)}`, name: called };
    this.#open.push(open);
    const input = JSON.stringify(objectOf(args) ?? {});
    return { type: "tool_call", ...open, namespace: null, kind: "function", input };
  }

  #userPart({ part, path }: Placed): IrUserBlock[] {
    const { text } = part;
    if (typeof text === "string") return text === "" ? [] : [{ type: "text", text }];
    const result = objectOf(part["functionResponse"]);
    if (result !== null) return [this.#result(result, path)];
    const medium = readMedium(part, path);
    if (medium !== null) return [medium];
    this.#drop(part);
    return [];
  }

  /** By its id, else the first open call of that name: packages leave out or change ids, of calls, results or both. */
  #result({ id, name, response, parts, willContinue }: JsonObject, path: string): IrToolResult {
    if (willContinue === true) reject(`${path}.functionResponse.willContinue`, unsupported);
    const byId = this.#open.findIndex((call) => call.id === id);
    const at = byId === -1 ? this.#open.findIndex((call) => call.name === name) : byId;
    const [call] = at === -1 ? [] : this.#open.splice(at, 1);
    const media = objectsOf(parts).flatMap((part) => readMedium(part, path) ?? []);
    const { text, isError } = readResult(objectOf(response) ?? {}, name);
    return {
      type: "tool_result",
      id: call?.id ?? stringOf(id) ?? stringOf(name) ?? "",
      kind: "function",
      content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...media],
      isError,
    };
  }

  #drop(part: JsonObject): void {
    for (const name in part)
      if (!besideContent.has(name)) this.#dropped.add(`${this.#dropped.names.turns}[].parts[].${name}`);
  }
}

/** Clients keep a stream's texts as they came, each chunk a part or even a content of its own. Together they are one text. */
function joined(blocks: readonly IrAssistantBlock[]): IrAssistantBlock[] {
  const all: IrAssistantBlock[] = [];
  for (const block of blocks) {
    const last = all.at(-1);
    if (last?.type === "text" && block.type === "text")
      all[all.length - 1] = { ...last, text: last.text + block.text };
    else all.push(block);
  }
  return all;
}

const resultNames: ReadonlySet<string> = new Set(["output", "result", "content", "error"]);

/** The one text in it, or its JSON. The AI SDK adds the function's name. */
function readResult(
  { name, ...rest }: JsonObject,
  called: Json | undefined,
): Pick<IrToolResult, "isError"> & { readonly text: string } {
  const response = name === undefined || name === called ? rest : { name, ...rest };
  const { error = null } = response;
  const isError = error !== null && error !== "" && error !== false;
  const [entry, ...more] = Object.entries(response);
  if (entry === undefined) return { text: "", isError };
  const [only, value] = entry;
  const isText = more.length === 0 && typeof value === "string" && resultNames.has(only);
  return { text: isText ? value : JSON.stringify(more.length === 0 && isError ? value : response), isError };
}

/** Null if the part is neither data nor an address. */
function readMedium(part: JsonObject, path: string): IrContent | null {
  const { inlineData, fileData } = part;
  if (isObject(inlineData)) return readData(inlineData, `${path}.inlineData`);
  return isObject(fileData) ? readAddress(fileData, `${path}.fileData`) : null;
}

function readData({ mimeType, data }: JsonObject, path: string): IrContent {
  const mediaType = stringOf(mimeType) ?? "";
  // Google takes the alphabet of URLs, too.
  const bytes = (stringOf(data) ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const source = { kind: "base64", mediaType, data: bytes } as const;
  if (mediaType.startsWith("image/")) return { type: "image", source, path };
  if (mediaType === "application/pdf") return { type: "document", source, path };
  if (mediaType.startsWith("text/")) {
    return {
      type: "document",
      source: { kind: "text", text: Buffer.from(bytes, "base64").toString() },
      path,
    };
  }
  return reject(path, `is ${mediaType || "of an unknown type"}, which this model's provider does not accept`);
}

function readAddress({ mimeType, fileUri }: JsonObject, path: string): IrContent {
  const url = stringOf(fileUri) ?? "";
  const mediaType = stringOf(mimeType) ?? "";
  const source = { kind: "url", url } as const;
  if (!/^https?:\/\//.test(url) || url.startsWith("https://generativelanguage.googleapis.com/"))
    return reject(path, "must have a public http or https address for this model's provider");
  if (mediaType === "" || mediaType.startsWith("image/")) return { type: "image", source, path };
  if (mediaType === "application/pdf") return { type: "document", source, path };
  return reject(path, `is ${mediaType}, which this model's provider does not accept`);
}
