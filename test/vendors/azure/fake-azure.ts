import { type Answer, bytesOf, json, sse } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../../support/provider.ts";

export const azureAccount = {
  key: "canary-azure-key-31b0",
  tenant: "canary-tenant-7f2a",
  client: "canary-client-0c9d",
  secret: "canary-client-secret-55e1",
  identityHeader: "canary-identity-header-8d3c",
};

/** Which deployments exist, and what each of them runs. */
const deployments: Readonly<Record<string, "openai" | "claude">> = {
  "gpt-canary-deployment": "openai",
  "o-canary-deployment": "openai",
  "claude-sonnet-4-6": "claude",
};

export interface FakeAzure {
  readonly url: string;
  readonly provider: ScriptedProvider;
  /** How many tokens it has issued. */
  readonly issued: number;
  /** Only the latest token is valid. */
  revokeTokens(): void;
  /** What the token host says instead of issuing one; null: it issues. */
  tokenTrouble: Answer | null;
  tokenLifeSeconds: number;
  stop(): void;
}

/** Azure's resource, Entra and the app's identity endpoint on one port, as strict as the real ones. */
export function startFakeAzure(): FakeAzure {
  const valid = new Set<string>();
  let issued = 0;

  function issue(): Answer {
    if (fake.tokenTrouble !== null) return fake.tokenTrouble;
    issued += 1;
    const token = `canary-entra-token-${issued}`;
    valid.add(token);
    return json({ token_type: "Bearer", access_token: token, expires_in: fake.tokenLifeSeconds });
  }

  function answer(request: SeenRequest): Answer {
    const { pathname, searchParams } = new URL(request.path, "http://azure");
    if (pathname === `/${azureAccount.tenant}/oauth2/v2.0/token`) return entra(request, issue);
    if (pathname === "/msi/token") return identity(request, searchParams, issue);
    const refusal = unauthorized(request, pathname, valid);
    return refusal ?? served(request, pathname, searchParams);
  }

  const provider = startProvider(answer);
  const fake: FakeAzure = {
    url: provider.url,
    provider,
    tokenTrouble: null,
    tokenLifeSeconds: 3600,
    get issued() {
      return issued;
    },
    revokeTokens: () => valid.clear(),
    stop: () => provider.stop(),
  };
  return fake;
}

/** What Entra's token host says. */
export function entra({ text }: SeenRequest, issue: () => Answer): Answer {
  const form = new URLSearchParams(text);
  const isComplete =
    form.get("grant_type") === "client_credentials" &&
    form.get("client_id") === azureAccount.client &&
    form.get("scope") === "https://cognitiveservices.azure.com/.default";
  if (!isComplete) return json({ error: "invalid_request", error_codes: [900144] }, { status: 400 });
  if (form.get("client_secret") === azureAccount.secret) return issue();
  const description = `AADSTS7000215: Invalid client secret provided: ${form.get("client_secret")}`;
  const body = { error: "invalid_client", error_description: description, error_codes: [7000215] };
  return json(body, { status: 401 });
}

function identity({ headers }: SeenRequest, query: URLSearchParams, issue: () => Answer): Answer {
  const isComplete =
    headers["x-identity-header"] === azureAccount.identityHeader &&
    query.get("api-version") === "2019-08-01" &&
    query.get("resource") === "https://cognitiveservices.azure.com";
  return isComplete ? issue() : json({ statusCode: 400, message: "canary-identity" }, { status: 400 });
}

function unauthorized({ headers }: SeenRequest, path: string, tokens: ReadonlySet<string>): Answer | null {
  const token = headers["authorization"]?.replace(/^Bearer /, "") ?? "";
  const isClaude = path.startsWith("/anthropic/");
  const key = isClaude ? headers["x-api-key"] : headers["api-key"];
  if (key === azureAccount.key || token === azureAccount.key || tokens.has(token)) return null;
  const message = `Access denied due to invalid subscription key or wrong API endpoint https://canary-resource.openai.azure.com, ${token}.`;
  return json({ error: { code: "401", message } }, { status: 401 });
}

function served(request: SeenRequest, path: string, query: URLSearchParams): Answer {
  const dated = /^\/openai\/deployments\/([^/]+)\/chat\/completions$/.exec(path);
  const version = query.get("api-version");
  if (dated !== null && version === null) return notFound("Resource not found");
  const named = dated === null ? String(request.body["model"]) : decodeURIComponent(dated[1] ?? "");
  const runs = deployments[named];
  const isClaudeDoor = path.startsWith("/anthropic/v1/");
  if (runs === undefined || (runs === "claude") !== isClaudeDoor) {
    return notFound("The API deployment for this resource does not exist.", "DeploymentNotFound");
  }
  if (isClaudeDoor) return usualResponse({ ...request, path });
  if (dated === null && !/^\/(openai\/v1|openai|models)\/(chat\/completions|responses)$/.test(path)) {
    return notFound("Resource not found");
  }
  if (JSON.stringify(request.body).includes("canary-violence")) return filteredPrompt;
  return withFilterChunks(usualResponse({ ...request, path }));
}

function notFound(message: string, code = "404"): Answer {
  return json({ error: { code, message } }, { status: 404 });
}

const severities = {
  hate: { filtered: false, severity: "safe" },
  violence: { filtered: true, severity: "high" },
};

const filteredPrompt = json(
  {
    error: {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
      innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: severities },
    },
  },
  { status: 400 },
);

/** Azure's streams begin with a chunk without choices, and may have chunks without a delta. */
export const promptFilterChunk = `data: ${JSON.stringify({
  choices: [],
  created: 0,
  id: "",
  model: "",
  object: "",
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: severities }],
})}\n\n`;

export const lateFilterChunk = `data: ${JSON.stringify({
  id: "",
  object: "",
  created: 0,
  model: "",
  choices: [
    {
      index: 0,
      finish_reason: null,
      content_filter_results: severities,
      content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 198 },
    },
  ],
})}\n\n`;

function withFilterChunks(answer: Answer): Answer {
  const body = new TextDecoder().decode(bytesOf(answer));
  if (!body.startsWith("data: ") || !body.includes("chat.completion.chunk")) return answer;
  const events = body.split(/(?<=\n\n)/);
  events.splice(2, 0, lateFilterChunk);
  return sse(promptFilterChunk + events.join(""));
}
