import type { CloudSettings, LiteLlmParameters } from "./litellm-parameters.ts";

/** LiteLLM's `api_base` is the resource's origin, to which it adds the rest. */
export function azureSettings(parameters: LiteLlmParameters): CloudSettings {
  const version = parameters.plain("api_version");
  const isDated = version !== null && /^\d{4}-/.test(version);
  return {
    base_url: withPath(
      parameters.plain("api_base") ?? parameters.plain("base_url"),
      isDated ? "openai" : "openai/v1",
    ),
    api_version: isDated ? version : null,
    ...azureAccess(parameters, "AZURE_API_KEY"),
  };
}

/** Azure AI Foundry: Claude has its own endpoint. */
export function azureAiSettings(parameters: LiteLlmParameters, model: string): CloudSettings {
  const base = parameters.plain("api_base") ?? parameters.plain("base_url");
  return {
    base_url: withPath(base, model.startsWith("claude-") ? "anthropic" : "openai/v1"),
    ...azureAccess(parameters, "AZURE_AI_API_KEY"),
  };
}

function azureAccess(parameters: LiteLlmParameters, keyVariable: string): CloudSettings {
  const secret = parameters.secret("client_secret", "AZURE_CLIENT_SECRET");
  if (secret === null) {
    return { api_key: parameters.secret("api_key", keyVariable) ?? `env:${keyVariable}` };
  }
  return {
    tenant_id: parameters.plain("tenant_id"),
    client_id: parameters.plain("client_id"),
    client_secret: secret,
  };
}

function withPath(base: string | null, path: string): string | null {
  if (base === null) return null;
  return URL.parse(base)?.pathname === "/" ? `${base.replace(/\/+$/, "")}/${path}` : base;
}

/** `vertex_credentials` is a path, the document itself, or a variable with either; without it, what gcloud has. */
export function vertexSettings(parameters: LiteLlmParameters): CloudSettings {
  return {
    project: parameters.plain("vertex_project") ?? "enter-its-value",
    location: parameters.plain("vertex_location"),
    credentials: vertexCredentials(parameters),
  };
}

function vertexCredentials(parameters: LiteLlmParameters): string {
  const text = parameters.text("vertex_credentials");
  if (text === null) return "adc";
  if (!text.startsWith("os.environ/") && !text.trimStart().startsWith("{")) return `file:${text}`;
  return parameters.secret("vertex_credentials", "VERTEX_CREDENTIALS") ?? "adc";
}

/** Without keys in the file, AWS's default credential chain is used. */
export function bedrockSettings(parameters: LiteLlmParameters, model: string): CloudSettings {
  const region = parameters.plain("aws_region_name") ?? regionIn(model);
  if (region === null) parameters.notes.push("it names no region; us-east-1 is assumed");
  return { region: region ?? "us-east-1", ...bedrockAccess(parameters) };
}

function bedrockAccess(parameters: LiteLlmParameters): CloudSettings {
  const apiKey = parameters.secret("api_key", "AWS_BEARER_TOKEN_BEDROCK");
  if (apiKey !== null) return { api_key: apiKey };
  const accessKeyId = parameters.secret("aws_access_key_id", "AWS_ACCESS_KEY_ID");
  const secretAccessKey = parameters.secret("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === null || secretAccessKey === null) return { credentials: "chain" };
  return {
    access_key_id: accessKeyId,
    secret_access_key: secretAccessKey,
    session_token: parameters.secret("aws_session_token", "AWS_SESSION_TOKEN"),
  };
}

const region = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

function regionIn(model: string): string | null {
  return model.split("/").find((part) => region.test(part)) ?? null;
}

/** The model's id without the prefixes that LiteLLM adds: `converse/`, `invoke/` and a region. */
export function bedrockModel(model: string): string {
  const parts = model.split("/");
  while (parts.length > 1 && (region.test(parts[0] ?? "") || /^(?:converse|invoke)$/.test(parts[0] ?? ""))) {
    parts.shift();
  }
  return parts.join("/");
}
