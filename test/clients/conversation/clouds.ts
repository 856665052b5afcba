import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, json } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { azureAccount, entra } from "../../vendors/azure/fake-azure.ts";
import { grant, vertexAccount } from "../../vendors/vertex/fake-vertex.ts";
import { chat } from "./chat.ts";
import { complain, listOf, objectOf, type ProviderDialect } from "./dialect.ts";
import { gemini, modelAskedFor } from "./gemini.ts";
import { messages } from "./messages.ts";
import type { Said, Turn } from "./scenario.ts";

/** Dialects at Vertex and Azure, where they differ from their makers' own. */

const place = `/projects/${vertexAccount.project}/locations/europe-west1/publishers`;

/** Gemini's calls have no ids here, so results follow the order of the calls. Usage comes at the end of a stream alone. */
export const geminiAtVertex: ProviderDialect = {
  ...gemini,
  isAskedAt: (path) => path.startsWith(`/v1beta1${place}/google/models/`) && /:\w+(?:\?alt=sse)?$/.test(path),
  hear: (body) => gemini.hear(withNumbers(body)),
  say: (turn, body) => gemini.say(withoutIds(turn), body),
  stream: (turn, body) =>
    gemini.stream(withoutIds(turn), body).map((frame, index, frames) => {
      if (hasFinished(frame)) return frame;
      return String(frame).replace(usage, hasFinished(frames[index - 1] ?? "") ? "}" : traffic);
    }),
  numbersCalls: true,
};

/** Claude's model and method are in the path, and its version is in the body. */
export const claudeAtVertex: ProviderDialect = {
  ...messages,
  isAskedAt: (path) =>
    path.startsWith(`/v1${place}/anthropic/models/`) && /:(?:streamR|r)awPredict$/.test(path),
  isAskedToStream: ({ path }) => path.endsWith(":streamRawPredict"),
  modelAskedFor,
  hear(body) {
    const version = String(body["anthropic_version"]);
    if (!["vertex-2023-10-16", "2026-10-21"].includes(version)) complain("an unknown version:", version);
    if ("model" in body) complain("model: Extra inputs are not permitted");
    return messages.hear(body);
  },
};

const usage = /,"usageMetadata":\{.*\}/;
const traffic = ',"usageMetadata":{"trafficType":"ON_DEMAND"}}';

function hasFinished(frame: string | Uint8Array): boolean {
  return String(frame).includes('"finishReason"');
}

/** The deployment is in the path, and the version behind it. */
export const chatAtAzure: ProviderDialect = {
  ...chat,
  isAskedAt: (path) => deployment.test(path),
  modelAskedFor: ({ path }) => decodeURIComponent(deployment.exec(path)?.[1] ?? ""),
};

const deployment = /^\/openai\/deployments\/([^/]+)\/chat\/completions\?api-version=2024-10-21$/;

function withoutIds(turn: Turn): Turn {
  return {
    ...turn,
    says: turn.says.map((said): Said => (said.type === "call" ? { ...said, id: "" } : said)),
  };
}

/** Numbers calls, and results, from the beginning of the conversation. */
export function withNumbers(body: JsonObject): JsonObject {
  const next = { functionCall: 0, functionResponse: 0 };
  const numbered = (part: JsonObject): JsonObject => {
    for (const name of ["functionCall", "functionResponse"] as const) {
      if (part[name] === undefined) continue;
      const call = objectOf(part[name]);
      if ("id" in call) complain("Vertex knows no ids of calls:", call);
      return { ...part, [name]: { ...call, id: numberOf(next[name]++) } };
    }
    return part;
  };
  const contents = listOf(body["contents"]).map((content) => ({
    ...content,
    parts: listOf(content["parts"]).map(numbered),
  }));
  return { ...body, contents };
}

/** What stands for the id of a call where there are none. */
export function numberOf(place: number): string {
  return `call ${place}`;
}

const tokens = { google: "canary-google-token", entra: "canary-entra-token" };

export const cloudCredentials = {
  vertex: { authorization: `Bearer ${tokens.google}` },
  azure: { "api-key": azureAccount.key },
  entra: { authorization: `Bearer ${tokens.entra}` },
};

/** What Google's or Entra's token host says; null for every other request. */
export function tokenResponse(request: SeenRequest): Answer | null {
  const issue = (token: string) => () =>
    json({ access_token: token, expires_in: 3599, token_type: "Bearer" });
  if (request.path === "/token") return grant(request, issue(tokens.google));
  if (request.path === `/${azureAccount.tenant}/oauth2/v2.0/token`)
    return entra(request, issue(tokens.entra));
  return null;
}
