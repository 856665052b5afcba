import type { Json, JsonObject } from "../../../src/base/json.ts";
import type { SeenRequest } from "../../support/provider.ts";
import {
  complain,
  failureWords,
  isSealed,
  listOf,
  objectOf,
  type ProviderDialect,
  pieces,
  sealed,
  stringOf,
  unsealed,
} from "./dialect.ts";
import type { Ending, Heard, Said, TokenCount, Turn, Utterance } from "./scenario.ts";

/** A Gemini 3: calls have ids, and must come back with their signatures while their turn lasts. */
export const gemini: ProviderDialect = {
  isAskedAt: (path) =>
    /^\/v1beta\/models\/[^/]+:(?:generateContent|streamGenerateContent\?alt=sse)$/.test(path),
  isAskedToStream: ({ path }) => path.includes(":streamGenerateContent"),
  modelAskedFor,
  hear,
  say,
  stream,
  failure: (message) => ({ error: { code: 500, message, status: "INTERNAL" } }),
};

export function modelAskedFor({ path }: Pick<SeenRequest, "path">): string {
  return decodeURIComponent(/\/models\/([^/:]+)/.exec(path)?.[1] ?? "");
}

const finishes: Readonly<Record<Ending, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  refusal: "SAFETY",
  fails: "",
  cut: "",
};

/** On a call that was not thought about; Gemini signs those as well. */
const unthought = "unthought";

/** What Google documents for calls whose signature is lost. */
const sentinel = "skip_thought_signature_validator";

// ——— Hearing ———

/** Objects whose names are the caller's. */
const callers: ReadonlySet<string> = new Set([
  "args",
  "response",
  "parametersJsonSchema",
  "responseJsonSchema",
]);

/** Google reads proto JSON, in which each name has a second spelling. */
function inCamelCase(value: Json): Json {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [camel, callers.has(camel) ? member : inCamelCase(member ?? null)];
  });
  return Object.fromEntries(members);
}

/** The chats of Google's packages keep a stream as a content for each chunk. */
function merged(contents: readonly JsonObject[]): JsonObject[] {
  const all: JsonObject[] = [];
  for (const content of contents) {
    const last = all.at(-1);
    if (last?.["role"] === content["role"] && last !== undefined)
      all[all.length - 1] = { ...last, parts: [...listOf(last["parts"]), ...listOf(content["parts"])] };
    else all.push(content);
  }
  return all;
}

function hear(sent: JsonObject): Heard {
  const body = objectOf(inCamelCase(sent));
  for (const name of ["model", "stream", "messages"]) if (name in body) complain("a foreign field:", name);
  const contents = merged(listOf(body["contents"]));
  checkTurns(contents);
  checkSignatures(contents);
  const config = objectOf(body["generationConfig"]);
  const [tools, ...more] = listOf(body["tools"]);
  if (more.length > 0) complain("functions are declared in several places:", more);
  const level = objectOf(config["thinkingConfig"])["thinkingLevel"];
  return {
    system: textIn(objectOf(body["systemInstruction"])),
    spoken: contents.flatMap(hearContent),
    tools: listOf(tools?.["functionDeclarations"]).map(({ name, description, parametersJsonSchema }) => ({
      name: stringOf(name, "a function's name"),
      description: stringOf(description, "a description"),
      // A function without parameters must not have an empty schema.
      schema: parametersJsonSchema ?? { type: "object", properties: {}, additionalProperties: false },
    })),
    effort: typeof level === "string" ? level.toLowerCase() : null,
    schema: config["responseJsonSchema"] ?? null,
  };
}

/** Google answers 400 to each of these. */
function checkTurns(contents: readonly JsonObject[]): void {
  let open: JsonObject[] = [];
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== (index % 2 === 0 ? "user" : "model")) complain("turns do not alternate:", contents);
    if (listOf(parts).length === 0 || listOf(parts).some((part) => Object.keys(part).length === 0)) {
      complain("a turn has an empty part, or none:", parts);
    }
    const responses = listOf(parts).flatMap((part) => part["functionResponse"] ?? []);
    const answered = responses.map((response) => nameAndId(objectOf(response)));
    if (!Bun.deepEquals(answered, open.map(nameAndId))) complain("calls and results:", open, answered);
    open = listOf(parts).flatMap((part) =>
      part["functionCall"] === undefined ? [] : [objectOf(part["functionCall"])],
    );
  }
  if (contents.at(-1)?.["role"] !== "user") complain("the last turn is not the user's");
}

function nameAndId({ name, id }: JsonObject): JsonObject {
  return { name, id };
}

/** Every step since the user last said something must have a signature on its first call. */
function checkSignatures(contents: readonly JsonObject[]): void {
  const isQuestion = ({ role, parts }: JsonObject) =>
    role === "user" && listOf(parts).every((part) => part["functionResponse"] === undefined);
  for (const { parts } of contents.slice(contents.findLastIndex(isQuestion))) {
    const first = listOf(parts).find((part) => part["functionCall"] !== undefined);
    if (first !== undefined && first["thoughtSignature"] === undefined) {
      complain("Function call is missing a thought_signature:", first);
    }
  }
}

function hearContent({ role, parts }: JsonObject): Utterance[] {
  return role === "user" ? listOf(parts).map(hearUser) : joined(listOf(parts).flatMap(hearModel));
}

/** The pieces of a stream's text, as clients send them back, are one text. */
function joined(heard: readonly Utterance[]): Utterance[] {
  const all: Utterance[] = [];
  for (const each of heard) {
    const last = all.at(-1);
    const isText = last?.who === "assistant" && "text" in last && each.who === "assistant" && "text" in each;
    if (isText) all[all.length - 1] = { who: "assistant", text: last.text + each.text };
    else all.push(each);
  }
  return all;
}

function hearUser(part: JsonObject): Utterance {
  if (typeof part["text"] === "string") return { who: "user", text: part["text"] };
  if (part["inlineData"] !== undefined) {
    const { mimeType, data } = objectOf(part["inlineData"]);
    // Its package for Python writes data in the alphabet of URLs.
    const base64 = Buffer.from(stringOf(data, "data"), "base64").toString("base64");
    const picture = { mediaType: stringOf(mimeType, "a media type"), data: base64 };
    return { who: "user", picture };
  }
  const { id, response } = objectOf(part["functionResponse"]);
  const { output, content, result } = objectOf(response);
  return {
    who: "tool",
    id: stringOf(id, "a call's id"),
    text: stringOf(output ?? content ?? result, "a result"),
  };
}

/** Google needs no thoughts back, and takes them. */
function hearModel(part: JsonObject): Utterance[] {
  if (part["thought"] === true || part["text"] === "") return [];
  if (typeof part["text"] === "string") return [{ who: "assistant", text: part["text"] }];
  const { id, name, args } = objectOf(part["functionCall"]);
  const call = {
    id: stringOf(id, "a call's id"),
    name: stringOf(name, "a call's name"),
    input: objectOf(args),
  };
  return [...hearSignature(part["thoughtSignature"]), { who: "assistant", call }];
}

function hearSignature(signature: unknown): Utterance[] {
  if (signature === undefined || signature === sentinel) return [];
  const proof = unsealed(readSignature(signature), "google");
  return proof === unthought ? [] : [{ who: "assistant", thinking: "", proof }];
}

function textIn({ parts }: JsonObject): string {
  return listOf(parts)
    .map((part) => stringOf(part["text"], "a part"))
    .join("");
}

/** Whether a signature came back that this model has given. */
export function hasOwnSignature(body: JsonObject): boolean {
  const parts = listOf(body["contents"]).flatMap((content) => listOf(content["parts"]));
  return parts.some((part) => isSealed(readSignature(part["thoughtSignature"]), "google"));
}

/** Google's package for Python takes padded base64 only, and sends it back in the alphabet of URLs. */
function signature(proof: string): string {
  return Buffer.from(sealed(proof, "google")).toString("base64");
}

export function readSignature(sent: unknown): string {
  return typeof sent === "string" ? Buffer.from(sent, "base64").toString() : "";
}

// ——— Saying ———

const head = { modelVersion: "upstream", responseId: "upstream-response" };

function say({ says, usage, ending }: Turn): JsonObject {
  return { ...head, candidates: [candidate(partsOf(says), ending, says)], usageMetadata: usageOf(usage) };
}

/** Usage is in every chunk, and grows; the answer's own signature comes last, behind the finish reason. */
function stream({ says, usage, ending }: Turn): string[] {
  const parts = partsOf(says).flatMap((part) =>
    typeof part["text"] === "string" ? pieces(part["text"]).map((text) => ({ ...part, text })) : [part],
  );
  const frames = parts.map((part, index) => {
    const soFar = { ...usage, output: Math.ceil((usage.output * (index + 1)) / (parts.length + 1)) };
    return frame({ ...head, candidates: [candidate([part], null, says)], usageMetadata: usageOf(soFar) });
  });
  if (ending === "cut") return frames;
  if (ending === "fails") return [...frames, frame(gemini.failure(failureWords))];
  const ended = candidate([{ text: "" }], ending, says);
  const last = { ...head, candidates: [ended], usageMetadata: usageOf(usage) };
  const signed = { text: "", thoughtSignature: signature("of the text") };
  const trailing = {
    ...head,
    candidates: [candidate([signed], null, says)],
    usageMetadata: usageOf(usage),
  };
  return [...frames, frame(last), frame(trailing)];
}

function candidate(parts: readonly JsonObject[], ending: Ending | null, says: readonly Said[]): JsonObject {
  const refusal = says.find((said) => said.type === "refusal");
  return {
    index: 0,
    content: { role: "model", ...(parts.length === 0 ? {} : { parts: [...parts] }) },
    ...(ending === null ? {} : { finishReason: finishes[ending] }),
    ...(ending === "refusal" ? { finishMessage: refusal?.text ?? "" } : {}),
  };
}

/** The first call of several is signed, with the proof of what was thought before it. */
function partsOf(says: readonly Said[]): JsonObject[] {
  const thought = says.find((said) => said.type === "thinking");
  const first = says.find((said) => said.type === "call");
  return says.flatMap((said): JsonObject[] => {
    if (said.type === "text") return [{ text: said.text }];
    if (said.type === "thinking") return [{ text: said.text, thought: true }];
    if (said.type === "refusal") return [];
    const functionCall = { ...(said.id === "" ? {} : { id: said.id }), name: said.name, args: said.input };
    const thoughtSignature = signature(thought?.proof ?? unthought);
    return [said === first ? { functionCall, thoughtSignature } : { functionCall }];
  });
}

function frame(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

function usageOf({ input, cached, output }: TokenCount): JsonObject {
  return {
    promptTokenCount: input,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    candidatesTokenCount: output,
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
  };
}
