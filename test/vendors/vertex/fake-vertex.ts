import { createVerify, generateKeyPairSync } from "node:crypto";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, sse } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../../support/provider.ts";
import { refusedByVersion } from "../claude-version.ts";
import { chunkOf, googleError, streamOf, usageOf } from "../gemini/fake-gemini.ts";

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

export const vertexAccount = {
  project: "canary-project-5d1e",
  email: "canary-account@canary-project-5d1e.iam.gserviceaccount.com",
  keyId: "canary-key-id-77c0",
  apiKey: "canary-express-key-19aa",
  clientSecret: "canary-user-secret-0e0e",
  refreshToken: "canary-refresh-token-4b4b",
} as const;

/** Lines of the private key, none of which may be seen anywhere. */
export const privateKeyLines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));

/** As Google gives it out; some editors save it with other line ends. */
export function keyFile(tokenUri: string, changes: JsonObject = {}): string {
  const file = {
    type: "service_account",
    project_id: vertexAccount.project,
    private_key_id: vertexAccount.keyId,
    private_key: pem.replaceAll("\n", "\r\n"),
    client_email: vertexAccount.email,
    token_uri: tokenUri,
    ...changes,
  };
  return JSON.stringify(file, null, 2);
}

export function userFile(tokenUri: string): string {
  return JSON.stringify({
    type: "authorized_user",
    client_id: "canary-client-id",
    client_secret: vertexAccount.clientSecret,
    refresh_token: vertexAccount.refreshToken,
    quota_project_id: vertexAccount.project,
    token_uri: tokenUri,
  });
}

export interface FakeVertex {
  readonly url: string;
  readonly provider: ScriptedProvider;
  readonly tokenUri: string;
  readonly issued: number;
  /** A token that is valid without having been asked for, for clients that bring their own. */
  readonly token: string;
  revokeTokens(): void;
  /** What the token host says instead of issuing one; null: it issues. */
  tokenTrouble: Answer | null;
  /** What Vertex says instead of an answer; null: it answers. */
  problem: Answer | null;
  stop(): void;
}

/** Vertex AI, Google's token host and the metadata server on one port, as strict as the real ones. */
export function startFakeVertex(): FakeVertex {
  const own = "canary-google-token-own";
  const valid = new Set<string>([own]);
  let issued = 0;

  function issue(): Answer {
    if (fake.tokenTrouble !== null) return fake.tokenTrouble;
    issued += 1;
    const token = `canary-google-token-${issued}`;
    valid.add(token);
    return json({ access_token: token, expires_in: 3599, token_type: "Bearer" });
  }

  const provider = startProvider((request) => {
    const { pathname } = new URL(request.path, "http://vertex");
    if (pathname === "/token") return grant(request, issue);
    if (pathname === "/computeMetadata/v1/instance/service-accounts/default/token") {
      return request.headers["metadata-flavor"] === "Google" ? issue() : json({}, { status: 403 });
    }
    const token = request.headers["authorization"]?.replace(/^Bearer /, "") ?? "";
    const isExpress = request.headers["x-goog-api-key"] === vertexAccount.apiKey;
    if (!valid.has(token) && !isExpress) {
      return googleError(401, "UNAUTHENTICATED", `Request had invalid authentication credentials ${token}.`);
    }
    return fake.problem ?? served(request, pathname);
  });
  const fake: FakeVertex = {
    url: provider.url,
    provider,
    tokenUri: `${provider.url}/token`,
    token: own,
    tokenTrouble: null,
    problem: null,
    get issued() {
      return issued;
    },
    revokeTokens: () => valid.clear(),
    stop: () => provider.stop(),
  };
  return fake;
}

/** What Google's token host says. */
export function grant({ text }: SeenRequest, issue: () => Answer): Answer {
  const form = new URLSearchParams(text);
  if (form.get("grant_type") === "refresh_token") {
    const isKnown =
      form.get("client_secret") === vertexAccount.clientSecret &&
      form.get("refresh_token") === vertexAccount.refreshToken;
    return isKnown ? issue() : json({ error: "invalid_grant" }, { status: 400 });
  }
  if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") {
    return json({ error: "unsupported_grant_type" }, { status: 400 });
  }
  return isSigned(form.get("assertion") ?? "") ? issue() : json({ error: "invalid_grant" }, { status: 400 });
}

function isSigned(assertion: string): boolean {
  const [header = "", claims = "", signature = ""] = assertion.split(".");
  const verify = createVerify("RSA-SHA256").update(`${header}.${claims}`);
  if (!verify.verify(keys.publicKey, Buffer.from(signature, "base64url"))) return false;
  const { alg, typ, kid } = JSON.parse(Buffer.from(header, "base64url").toString());
  const { iss, scope, aud, iat, exp } = JSON.parse(Buffer.from(claims, "base64url").toString());
  const isNow = Math.abs(iat * 1000 - Date.now()) < 300_000 && exp === iat + 3600;
  const isOurs = iss === vertexAccount.email && kid === vertexAccount.keyId && String(aud).endsWith("/token");
  return (
    alg === "RS256" &&
    typ === "JWT" &&
    isOurs &&
    isNow &&
    scope === "https://www.googleapis.com/auth/cloud-platform"
  );
}

const place = `/projects/${vertexAccount.project}/locations/[a-z0-9-]+`;
const claude = new RegExp(`^/v1${place}/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$`);
const gemini = new RegExp(
  `^(?:/v1beta1${place}|/v1)/(?:publishers/google/models|endpoints)/([^/:]+):(\\w+)$`,
);
const open = new RegExp(`^/v1${place}/endpoints/openapi/chat/completions$`);

function served(request: SeenRequest, path: string): Answer {
  const [, claudeModel, method] = claude.exec(path) ?? [];
  if (claudeModel !== undefined)
    return claudeResponse(request, decodeURIComponent(claudeModel), method === "streamRawPredict");
  const [, geminiModel, verb] = gemini.exec(path) ?? [];
  if (geminiModel !== undefined) return geminiResponse(geminiModel, verb ?? "", request.path);
  if (open.test(path)) return usualResponse({ ...request, path });
  return googleError(404, "NOT_FOUND", "Not found");
}

const extras = ["cache_control", "mcp_servers", "container", "thread", "service_tier"];

function claudeResponse(request: SeenRequest, model: string, isStream: boolean): Answer {
  const { body } = request;
  if (model.includes("missing")) return notEnabled(model);
  if (model === "count-tokens") {
    return typeof body["model"] === "string"
      ? json({ input_tokens: 25 })
      : extraInput("model: Field required");
  }
  if (typeof body["anthropic_version"] !== "string") return extraInput("anthropic_version: Field required");
  if (body["model"] !== undefined) return extraInput("model: Extra inputs are not permitted");
  const refused = refusedByVersion(body);
  if (refused !== undefined) return extraInput(`${refused}: not supported by this version`);
  if (JSON.stringify(body).includes('"scope":"global"'))
    return extraInput("cache_control.ephemeral.scope: Extra inputs are not permitted");
  const extra = extras.find((name) => body[name] !== undefined);
  if (extra !== undefined) return extraInput(`${extra}: Extra inputs are not permitted`);
  if (request.headers["anthropic-beta"]?.includes("unknown") === true)
    return extraInput("Unexpected value(s) for the `anthropic-beta` header");
  if (JSON.stringify(body["messages"]).includes('"role":"system"'))
    return extraInput('messages: Unexpected role "system"');
  if ((body["stream"] === true) !== isStream) return extraInput("stream does not fit the method");
  return usualResponse({ ...request, path: "/messages" });
}

/** Claude's own envelope, as Vertex passes it on. */
function extraInput(message: string): Answer {
  return json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
}

function notEnabled(model: string): Answer {
  const name = `projects/${vertexAccount.project}/locations/global/publishers/anthropic/models/${model}`;
  return googleError(
    404,
    "NOT_FOUND",
    `Publisher Model \`${name}\` was not found or your project does not have access to it.`,
  );
}

function geminiResponse(model: string, verb: string, target: string): Answer {
  if (model.includes("missing")) return notEnabled(model);
  if (verb === "countTokens") return json({ totalTokens: 31 });
  const usage = { ...usageOf(12, 5, 7), trafficType: "ON_DEMAND" };
  if (verb === "generateContent") return json(chunkOf([{ text: "It is a lock." }], usage, "STOP"));
  if (verb !== "streamGenerateContent" || !target.endsWith("?alt=sse"))
    return googleError(404, "NOT_FOUND", "Not found");
  return sse(
    streamOf([
      chunkOf([{ text: "It is " }], { trafficType: "ON_DEMAND" }),
      chunkOf([{ text: "a lock." }], usage, "STOP"),
    ]),
  );
}
