import { SignatureV4 } from "@smithy/signature-v4";
import { isObject, type Json, type JsonObject } from "../../../src/base/json.ts";
import { type Answer, json } from "../../support/answers.ts";
import { fixture, fixtureText } from "../../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../../support/provider.ts";
import { refusedByVersion } from "../claude-version.ts";
import { encodeChunk, encodeEvent, encodeException } from "./encode-message.ts";

export const awsAccount = {
  region: "eu-canary-1",
  apiKey: "canary-bedrock-key-77aa",
  accessKeyId: "AKIACANARY0000000001",
  secretAccessKey: "canary-aws-secret-5b21",
  sessionToken: "canary-aws-session-9c40",
} as const;

/** The models that are enabled in this account. */
export const claudeModel = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
export const novaModel = "arn:aws:bedrock:eu-canary-1:123456789012:application-inference-profile/nova1";

export interface FakeBedrock {
  readonly url: string;
  readonly provider: ScriptedProvider;
  /** Said instead of the usual; null: as usual. */
  instead: Answer | null;
  stop(): void;
}

/** Bedrock's runtime on one port, as strict as the real one about who asks and about what it is asked. */
export function startFakeBedrock(): FakeBedrock {
  const provider = startProvider(async (request) => {
    const refusal = await unauthorized(request);
    if (refusal !== null) return refusal;
    return fake.instead ?? refusedSignature(request) ?? served(request);
  });
  const fake: FakeBedrock = { url: provider.url, provider, instead: null, stop: () => provider.stop() };
  return fake;
}

/** In place of an answer, or as the first frame of a stream. */
function refusedSignature({ text, path }: SeenRequest): Answer | null {
  if (!text.includes(unknownSignature)) return null;
  const message = "messages.1.content.0: Invalid `signature` in `thinking` block";
  return path.endsWith("stream")
    ? eventStream(encodeException("validationException", { message }))
    : awsError(400, "ValidationException", message);
}

/** One that another account's Claude has given. */
export const unknownSignature = "EqQBcanary";

export function awsError(status: number, type: string, message: string): Answer {
  const headers = { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/${type}/` };
  return json({ message }, { status, headers });
}

export function eventStream(...frames: readonly Uint8Array[]): Answer {
  return {
    status: 200,
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    steps: frames.map((write) => ({ write })),
    framing: "chunked",
    before: [],
  };
}

/** What the signer adds by itself. */
const added: ReadonlySet<string> = new Set(["x-amz-date", "x-amz-security-token"]);

/** The signature is made once more, by AWS's own code. */
async function unauthorized(request: SeenRequest): Promise<Answer | null> {
  const { authorization = "" } = request.headers;
  if (authorization === `Bearer ${awsAccount.apiKey}`) return null;
  if (authorization.startsWith("Bearer "))
    return awsError(
      403,
      "AccessDeniedException",
      "Authentication failed: Please make sure your API Key is valid.",
    );
  const { "x-amz-date": date = "", "x-amz-security-token": token } = request.headers;
  const signer = new SignatureV4({
    credentials: {
      accessKeyId: awsAccount.accessKeyId,
      secretAccessKey: awsAccount.secretAccessKey,
      ...(token === undefined ? {} : { sessionToken: awsAccount.sessionToken }),
    },
    region: awsAccount.region,
    service: "bedrock",
    sha256: Sha256,
    applyChecksum: false,
  });
  const signed = /SignedHeaders=([^,]*)/.exec(authorization)?.[1]?.split(";") ?? [];
  const headers = Object.fromEntries(
    signed.filter((name) => !added.has(name)).map((name) => [name, request.headers[name] ?? ""]),
  );
  const { headers: expected } = await signer.sign(
    {
      method: "POST",
      protocol: "http:",
      hostname: "h",
      path: request.path,
      query: {},
      headers,
      body: request.bytes,
    },
    { signingDate: dateOf(date) },
  );
  if (expected["authorization"] === authorization) return null;
  const message = "The request signature we calculated does not match the signature you provided.";
  return awsError(403, "InvalidSignatureException", message);
}

class Sha256 {
  readonly #hasher: Bun.CryptoHasher;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    // The cast holds because the signer passes text or bytes.
    this.#hasher = new Bun.CryptoHasher("sha256", secret as string | Uint8Array | undefined);
  }

  update(data: Uint8Array | string): void {
    this.#hasher.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hasher.digest();
  }
}

function dateOf(amzDate: string): Date {
  return new Date(amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function served(request: SeenRequest): Answer {
  const [, encoded = "", operation] = /^\/model\/([^/]+)\/([a-z-]+)$/.exec(request.path) ?? [];
  const model = decodeURIComponent(encoded);
  if (model !== claudeModel && model !== novaModel)
    return awsError(400, "ValidationException", "The provided model identifier is invalid.");
  switch (operation) {
    case "converse":
      return json(converseResponse);
    case "converse-stream":
      return eventStream(...converseFrames);
    case "invoke":
      return invokeProblem(request.body) ?? json(JSON.parse(fixture("messages/text.json")));
    case "invoke-with-response-stream":
      return invokeProblem(request.body) ?? claudeStream();
    case "count-tokens":
      return json({ inputTokens: 25 });
    default:
      return awsError(404, "UnknownOperationException", "");
  }
}

const usage = { inputTokens: 21, outputTokens: 9, totalTokens: 30 };

const converseResponse: Json = {
  output: { message: { role: "assistant", content: [{ text: fixtureText }] } },
  stopReason: "end_turn",
  usage,
  metrics: { latencyMs: 12 },
};

const half = Math.floor(fixtureText.length / 2);
export const converseFrames = [
  encodeEvent("messageStart", { role: "assistant", p: "abc" }),
  encodeEvent("contentBlockDelta", {
    contentBlockIndex: 0,
    delta: { text: fixtureText.slice(0, half) },
    p: "a",
  }),
  encodeEvent("contentBlockDelta", {
    contentBlockIndex: 0,
    delta: { text: fixtureText.slice(half) },
    p: "ab",
  }),
  encodeEvent("contentBlockStop", { contentBlockIndex: 0, p: "abcd" }),
  encodeEvent("messageStop", { stopReason: "end_turn", p: "abcde" }),
  encodeEvent("metadata", { usage, metrics: { latencyMs: 12 }, p: "abcdef" }),
];

/** The events of the fixture, as InvokeModel packs them. The type of what is packed has a header of its own. */
function claudeStream(): Answer {
  const data = [...fixture("messages/text.sse").matchAll(/^data: (.*)$/gm)];
  const stream = eventStream(...data.map(([, event = "{}"]) => encodeChunk(JSON.parse(event))));
  return { ...stream, headers: { ...stream.headers, "x-amzn-bedrock-content-type": "application/json" } };
}

const allowed = new Set([
  ...[
    "anthropic_version",
    "max_tokens",
    "messages",
    "anthropic_beta",
    "system",
    "stop_sequences",
    "temperature",
  ],
  ...[
    "top_p",
    "top_k",
    "tools",
    "tool_choice",
    "thinking",
    "metadata",
    "output_config",
    "context_management",
  ],
]);

function invokeProblem(body: JsonObject): Answer | null {
  const extra = Object.keys(body).find((name) => !allowed.has(name));
  if (extra !== undefined)
    return awsError(400, "ValidationException", `${extra}: Extra inputs are not permitted`);
  if (typeof body["anthropic_version"] !== "string")
    return awsError(400, "ValidationException", "anthropic_version: Field required");
  const refused = refusedByVersion(body);
  if (refused !== undefined)
    return awsError(400, "ValidationException", `${refused}: not supported by this version`);
  const marks = [...JSON.stringify(body).matchAll(/"cache_control":(\{.*?\})/g)].map(([, mark = "{}"]) =>
    JSON.parse(mark),
  );
  return marks.some((mark: Json) => isObject(mark) && mark["scope"] !== undefined)
    ? awsError(400, "ValidationException", "cache_control.ephemeral.scope: Extra inputs are not permitted")
    : null;
}
