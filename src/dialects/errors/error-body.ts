import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { listOf } from "../json/json-fields.ts";
import { bareObjectIn } from "./bare-error.ts";

/** A provider's error in any format. Safe to show to a client. */
export interface ProviderErrorBody {
  readonly message: string;
  readonly contextOverflow: boolean;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** The field that the provider complains about, as a path. */
  readonly param?: string | undefined;
  /** Anthropic's `details`. */
  readonly details?: JsonObject | undefined;
  /** The request holds reasoning of earlier turns that the provider does not recognise. */
  readonly rejectsSignatures?: true | undefined;
}

export interface TokenLimit {
  readonly needed: number;
  readonly maximum: number;
}

const maxMessageChars = 2000;

/** Reads OpenAI's and Anthropic's envelopes, FastAPI's `detail`, bare messages, plain text, HTML and empty bodies. */
export function readErrorBody(status: number, contentType: string | null, text: string): ProviderErrorBody {
  const body = bareObjectIn(text);
  if (body === null) return describe(plainText(contentType, text) ?? statusText(status), {});
  const inner = wrappedIn(body);
  if (inner !== null) return describe(messageOf(inner) ?? statusText(status), errorIn(inner));
  return describe(messageOf(body) ?? statusText(status), errorIn(body));
}

/** Ollama's message is the complete error of the llama-server that it runs. Null for a plain message. */
function wrappedIn(body: JsonObject): JsonObject | null {
  const message = messageOf(body);
  const inner = message?.startsWith("{") === true ? bareObjectIn(message) : null;
  return inner !== null && messageOf(inner) !== null ? inner : null;
}

/** Reads an error that is already parsed, such as the data of an in-stream error event. */
export function readErrorObject(body: JsonObject): ProviderErrorBody {
  return describe(messageOf(body) ?? "The provider reported an error.", errorIn(body));
}

function errorIn(body: JsonObject): JsonObject {
  if (isObject(body["error"])) return body["error"];
  const minimax = body["base_resp"];
  return isObject(minimax) ? { ...minimax, code: minimax["status_code"] ?? null } : body;
}

/**
 * Whether a body with status 200 is in fact an error: MiniMax adds a status to the response, other servers send a code and a
 * message instead of one.
 */
export function isDisguised(body: JsonObject): boolean {
  const { base_resp: minimax, code, choices } = body;
  if (isObject(minimax)) return typeof minimax["status_code"] === "number" && minimax["status_code"] !== 0;
  return choices === undefined && code !== undefined && typeof body["msg"] === "string";
}

function describe(rawMessage: string, error: JsonObject): ProviderErrorBody {
  const message = redact(withGeneration(rawMessage, error)).slice(0, maxMessageChars);
  const code = codeOf(error["code"]);
  const type = wordOf(error["type"]);
  const isOverflow = code === "context_length_exceeded" || type === "exceed_context_size_error";
  return {
    message,
    contextOverflow: isOverflow || overflowWording.test(message),
    code,
    type,
    param: paramOf(error["param"]),
    details: detailsOf(error["details"]),
    rejectsSignatures:
      code === "invalid_encrypted_content" || rejectedSignature.test(message) ? true : undefined,
  };
}

/** Groq's messages refer to the model's output, which is in a separate field. */
function withGeneration(message: string, { failed_generation: generation }: JsonObject): string {
  return typeof generation === "string" ? `${message} failed_generation: ${generation}` : message;
}

const maxParamChars = 200;

function paramOf(param: Json | undefined): string | undefined {
  return typeof param === "string" && param !== "" ? redact(param).slice(0, maxParamChars) : undefined;
}

const maxDetailsChars = 4000;
const deepestDetails = 8;

/** Only details of a sane size, with the operator's secrets taken out of all texts. */
function detailsOf(details: Json | undefined): JsonObject | undefined {
  if (!isObject(details)) return undefined;
  const copy = redactedCopy(details, deepestDetails);
  return isObject(copy) && JSON.stringify(copy).length <= maxDetailsChars ? copy : undefined;
}

/** Deeper levels are dropped. */
function redactedCopy(value: Json, levelsLeft: number): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (levelsLeft === 0) return null;
  if (Array.isArray(value)) return value.map((item) => redactedCopy(item, levelsLeft - 1));
  const copy: JsonObject = {};
  for (const [name, inner] of Object.entries(value)) {
    copy[withoutSecrets(name)] = redactedCopy(inner ?? null, levelsLeft - 1);
  }
  return copy;
}

/** Google's, Anthropic's and OpenAI's messages for reasoning that they do not recognise, or that Google lacks. */
const rejectedSignature =
  /(?:invalid|corrupt\w*|missing a) thought.?signature|thought.?signature (?:is )?(?:invalid|not valid|corrupt)|invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking|encrypted content .{0,200}could not be (?:verified|decrypted)/is;

/** Some vendors send the HTTP status as a number. */
function codeOf(code: Json | undefined): string | undefined {
  return typeof code === "number" ? String(code) : wordOf(code);
}

/** A code such as `workspace_suspended`: only the operator's own secrets are redacted. */
function wordOf(word: Json | undefined): string | undefined {
  return typeof word === "string" ? withoutSecrets(word).slice(0, maxParamChars) : undefined;
}

function messageOf(body: JsonObject): string | null {
  const { error, detail, message, errors, base_resp: minimax, msg } = body;
  if (isObject(error)) return text(error["message"]) ?? text(error["detail"]) ?? text(error["type"]);
  if (isObject(minimax)) return text(minimax["status_msg"]);
  // Mistral's message may be an object with FastAPI's details.
  const plain = isObject(message) ? detailOf(message["detail"]) : text(message);
  return text(error) ?? detailOf(detail) ?? plain ?? detailOf(errors) ?? text(msg);
}

/** FastAPI: a string, an object, or a list of locations and messages. */
function detailOf(detail: Json | undefined): string | null {
  if (isObject(detail)) return text(detail["message"]) ?? text(detail["msg"]) ?? messageOf(detail);
  if (!Array.isArray(detail)) return text(detail);
  const complaints = detail.map(complaintOf).filter((complaint) => complaint !== null);
  return complaints.length === 0 ? null : complaints.join("; ");
}

function complaintOf(entry: Json): string | null {
  if (!isObject(entry)) return text(entry);
  const complaint = text(entry["msg"]) ?? text(entry["message"]);
  const place = listOf(entry["loc"]).filter(isStep).join(".");
  return complaint === null || place === "" ? complaint : `${place}: ${complaint}`;
}

/** Any other value may have no text form: JSON can replace an object's `toString`. */
function isStep(step: Json): boolean {
  return typeof step === "string" || typeof step === "number";
}

function text(value: Json | undefined): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

function plainText(contentType: string | null, body: string): string | null {
  const trimmed = body.trim();
  const html = contentType?.includes("html") === true || trimmed.startsWith("<");
  return html || trimmed === "" ? null : trimmed;
}

const statusNames: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  409: "Conflict",
  413: "Payload Too Large",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  529: "Overloaded",
};

function statusText(status: number): string {
  const name = statusNames[status];
  return `The provider returned ${name === undefined ? status : `${status} ${name}`}.`;
}

const overflowWording =
  /prompt is too long|longer than the context length|context[_ ]length[_ ]exceeded|maximum context length|exceeds? the (?:model's )?(?:maximum )?context|context (?:window|length|limit|size).{0,40}exceed|exceed.{0,40}context (?:window|length|limit|size)|input (?:is|was) too long|input tokens? exceed|input token count .{0,20}exceeds|too many (?:input |prompt )?tokens|prompt (?:has|contains) .{0,20}tokens/i;

/** The vendors' messages, each with the needed tokens and the limit in its own order. */
const limitWordings: readonly RegExp[] = [
  /too long: (?<needed>\d+) tokens > (?<maximum>\d+)/i,
  /(?:context length is|limit of) (?<maximum>\d+) tokens.{0,80}?(?:resulted in|requested) (?:about )?(?<needed>\d+)/is,
  /context limit: (?<needed>\d+) \+ (?<extra>\d+) > (?<maximum>\d+)/i,
  /input token count \((?<needed>\d+)\) exceeds the maximum number of tokens allowed \((?<maximum>\d+)\)/i,
  /request \((?<needed>\d+) tokens\) exceeds.{0,60}?\((?<maximum>\d+) tokens\)/is,
];

export function readTokenLimit(message: string): TokenLimit | null {
  for (const wording of limitWordings) {
    const found = wording.exec(message)?.groups;
    if (found === undefined) continue;
    return {
      needed: Number(found["needed"]) + Number(found["extra"] ?? 0),
      maximum: Number(found["maximum"]),
    };
  }
  return null;
}

/**
 * A provider's message may quote the operator's key, account or URL, which clients must not see. It may also quote 64 KB of the
 * client's own, so no pattern starts again within what it has read.
 */
const secrets: readonly [RegExp, string][] = [
  [/\bhttps?:\/\/[^\s"'<>)\]]+/gi, "[url]"],
  [/\b(?:sk|pk|rk|gsk|xai|nvapi|hf|r8)[-_][\w*.-]{6,}/gi, "[key]"],
  [/\bslu_[\w*.-]{6,}/g, "[key]"],
  [/\bAIza[\w-]{10,}/g, "[key]"],
  [/\b(bearer|x-api-key:?|api[-_ ]key(?: provided)?:)\s+\S{6,}/gi, "$1 [key]"],
  [/\bproject(?:_number:| number | )\d{6,}/g, "project [account]"],
  [/\b(?:org|proj|acct|team|workspace|wrkspc)[-_][A-Za-z0-9]{8,}/g, "[account]"],
  [/\bya29\.[\w.-]{6,}/g, "[key]"],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+\.[\w-]*)?/g, "[key]"],
  [/\b(?:AKIA|ASIA|ABSK)[A-Za-z0-9+/=]{8,}/g, "[key]"],
  [/\barn:aws[\w-]*:[^\s"'<>)\]]+/gi, "[account]"],
  [/\bprojects\/[\w.:~-]+/g, "projects/[account]"],
  [/\bsubscriptions\/[\w-]+/gi, "subscriptions/[account]"],
  [/(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,253}\.gserviceaccount\.com\b/gi, "[account]"],
  [/(?<![\w-])[\w-]{1,64}\.(?:openai|services\.ai|cognitiveservices)\.azure\.(?:com|us|cn)\b/gi, "[host]"],
  [
    /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5}\b)?|\[(?=[\da-f]{0,4}:[\da-f]{0,4}:)[\da-f:]{2,39}\](?::\d{1,5}\b)?/gi,
    "[host]",
  ],
  [/(?<![\w.-])(?:localhost|[\w.-]{1,250}\.(?:internal|local|lan|svc)):\d{1,5}\b/gi, "[host]"],
  // A local server's model files.
  [/(?<![\w./-])\/[\w./-]{1,300}(?:\.gguf\b|\/blobs\/[\w:-]{1,100})/g, "[file]"],
  // An AWS account.
  [/(?<![\w.-])\d{12}(?![\w.-])/g, "[account]"],
];

function redact(message: string): string {
  return secrets.reduce(
    (redacted, [pattern, instead]) => redacted.replace(pattern, instead),
    withoutSecrets(message),
  );
}
