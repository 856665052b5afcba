import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../../src/base/system/environment.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";
import { issueByChain } from "../../../src/vendors/aws/chain.ts";
import { addressOf, mantleTarget, runtimeTarget } from "../../../src/vendors/bedrock/address.ts";
import { adviseOnBedrock, bedrock } from "../../../src/vendors/bedrock/index.ts";
import { readBedrockError } from "../../../src/vendors/bedrock/provider-error.ts";
import type { ErrorResponse, PreparedRequest } from "../../../src/vendors/provider.ts";
import { load } from "../../config/fixtures.ts";
import { json, text } from "../../support/answers.ts";
import { newFolder } from "../../support/new-folder.ts";
import { startProvider } from "../../support/provider.ts";

const asked: PreparedRequest = {
  dialect: "converse",
  purpose: "generate",
  model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
  stream: false,
  body: "{}",
  headers: {},
};

test("the region's address, also in China, and each operation's path (B01)", () => {
  const of = (region: string) => addressOf({ baseUrl: undefined, dialects: undefined, options: { region } });
  expect(of("eu-central-1")).toBe("https://bedrock-runtime.eu-central-1.amazonaws.com");
  expect(of("cn-north-1")).toBe("https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
  const operation = (prepared: PreparedRequest) => runtimeTarget(prepared).split("/").at(-1);
  expect(operation(asked)).toBe("converse");
  expect(operation({ ...asked, stream: true })).toBe("converse-stream");
  expect(operation({ ...asked, dialect: "messages" })).toBe("invoke");
  expect(operation({ ...asked, dialect: "messages", stream: true })).toBe("invoke-with-response-stream");
  expect(operation({ ...asked, purpose: "countTokens" })).toBe("count-tokens");
});

test("what is written to the cache for an hour is told apart (B46)", () => {
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 7, cacheWriteInputTokens: 50 };
  const cacheDetails = [
    { ttl: "1h", inputTokens: 30 },
    { ttl: "5m", inputTokens: 20 },
  ];
  const { usageIn } = providerDialect("converse");
  const written = { inputTokens: 10, cachedInputTokens: 7, cacheWriteTokens: 50, outputTokens: 5 };
  expect(usageIn({ usage: { ...usage, cacheDetails } })).toMatchObject({
    ...written,
    cacheWriteHourTokens: 30,
  });
  expect(usageIn({ usage })).toMatchObject(written);
  expect(usageIn({ usage })).not.toHaveProperty("cacheWriteHourTokens");
});

test("a model's id is one segment of the path, an ARN too (B02)", () => {
  expect(runtimeTarget(asked)).toBe("/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse");
  const model = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/x";
  expect(runtimeTarget({ ...asked, model })).toBe(
    "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fx/converse",
  );
});

test("at Mantle every model is spoken to in its maker's dialect (B26)", () => {
  const given = { baseUrl: undefined, dialects: undefined };
  const options = { region: "us-east-1", endpoint: "mantle" } as const;
  expect(addressOf({ ...given, options })).toBe("https://bedrock-mantle.us-east-1.api.aws");
  expect(mantleTarget({ ...asked, dialect: "messages" })).toBe("/anthropic/v1/messages");
  expect(mantleTarget({ ...asked, dialect: "messages", purpose: "countTokens" })).toBe(
    "/anthropic/v1/messages/count_tokens",
  );
  expect(mantleTarget({ ...asked, dialect: "chat", model: "openai.gpt-oss-120b" })).toBe(
    "/v1/chat/completions",
  );
  expect(mantleTarget({ ...asked, dialect: "chat", model: "openai.gpt-5.2" })).toBe(
    "/openai/v1/chat/completions",
  );
});

/** The dialects of the deployment that an operator's lines make. */
function configured(provider: string, model: string) {
  const toml = `[providers.aws]\nkind = "bedrock"\nregion = "us-east-1"\napi_key = "env:KEY"\n${provider}
    [[models]]\nid = "m"\nprovider = "aws"\nfree = true\n${model}`;
  const { settings } = load(toml, { env: { KEY: "k" } });
  return settings.models[0]?.deployments[0]?.dialects;
}

describe("an operator's dialect for a model", () => {
  const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
  const mantle = 'endpoint = "mantle"';
  const rows: [string, string, string, string[]][] = [
    [
      "messages at the runtime, for a profile",
      "",
      `upstream_model = "${arn}"\ndialect = "messages"`,
      ["messages"],
    ],
    ["converse for Claude", "", 'upstream_model = "anthropic.claude-x"\ndialect = "converse"', ["converse"]],
    [
      "responses at Mantle",
      mantle,
      'upstream_model = "openai.gpt-5.2"\ndialect = "responses"',
      ["responses"],
    ],
    ["chat at Mantle", mantle, 'upstream_model = "openai.gpt-5.2"\ndialect = "chat"', ["chat"]],
    ["none at the runtime", "", 'upstream_model = "eu.anthropic.claude-x"', ["messages"]],
    ["none at the runtime, another maker's", "", 'upstream_model = "amazon.nova"', ["converse"]],
    ["none at Mantle", mantle, 'upstream_model = "openai.gpt-5.2"', ["chat"]],
  ];
  test.each(rows)("%s", (_, provider, model, dialects) => {
    expect(configured(provider, model)).toEqual(dialects as never);
  });

  test("what an endpoint does not speak is refused", () => {
    const problem = (provider: string, dialect: string) => () =>
      configured(provider, `dialect = "${dialect}"`);
    expect(problem(mantle, "converse")).toThrow('does not speak "converse"');
    expect(problem("", "responses")).toThrow('does not speak "responses"');
  });

  test("responses at Mantle go to the door of the model's maker", () => {
    expect(mantleTarget({ ...asked, dialect: "responses", model: "openai.gpt-5.2" })).toBe(
      "/openai/v1/responses",
    );
    expect(mantleTarget({ ...asked, dialect: "responses", model: "openai.gpt-oss-120b" })).toBe(
      "/v1/responses",
    );
  });
});

test("a guardrail is part of every request by Converse, and only of those (B45)", () => {
  const options = { guardrail: "gr123@4" };
  const request = { model: asked.model, purpose: "generate", headers: {}, options } as const;
  const changes = (dialect: "converse" | "messages") =>
    bedrock.bodyChanges?.(dialect, options)?.({}, { ...request, dialect }, new Set()) ?? {};
  const guardrailConfig = { guardrailIdentifier: "gr123", guardrailVersion: "4" };
  expect(changes("converse")).toEqual({ guardrailConfig });
  expect(changes("messages")).not.toContainKey("guardrailConfig");
});

test("payloads may have padding, and the checksum is IEEE's (B15, B18)", () => {
  expect(Bun.hash.crc32("123456789")).toBe(0xcbf43926);
  expect(Bun.hash.crc32(new TextEncoder().encode("x123456789y").subarray(1, 10))).toBe(0xcbf43926);
});

// ——— Refusals ———

function refusedWith(status: number, type: string, message: string, more: object = {}): ErrorResponse {
  const headers = new Headers({
    "content-type": "application/json",
    ...(type === "" ? {} : { "x-amzn-errortype": type }),
  });
  return {
    head: { status, get: (name) => headers.get(name) },
    text: JSON.stringify({ message, ...more }),
    receivedAtMs: Date.UTC(2026, 0, 1),
  };
}

describe("what Bedrock's exceptions are about", () => {
  const cases = [
    ["B54: a wrong request", 400, "ValidationException", "roles must alternate", "request"],
    [
      "B54: a name that needs a profile",
      400,
      "ValidationException",
      "on-demand throughput isn’t supported",
      "account",
    ],
    [
      "B03: a model that does not exist",
      400,
      "ValidationException",
      "The provided model identifier is invalid.",
      "account",
    ],
    ["B55: no access", 403, "AccessDeniedException", "You don't have access", "account"],
    [
      "B55: an unknown key",
      403,
      "UnrecognizedClientException",
      "The security token is invalid.",
      "credential",
    ],
    ["B11: an expired token", 403, "ExpiredTokenException", "The security token is expired", "expired"],
    ["B56: no such model", 404, "ResourceNotFoundException", "Could not resolve", "account"],
    ["B57: too many tokens in a minute", 429, "ThrottlingException", "Too many tokens", "busy"],
    ["B58: a used-up quota", 400, "ServiceQuotaExceededException", "Your quota", "busy"],
    ["B59: a model that is being loaded", 429, "ModelNotReadyException", "Not ready", "passing"],
    ["B60: a model that takes too long", 408, "ModelTimeoutException", "Timed out", "timeout"],
  ] as const;
  for (const [title, status, type, message, about] of cases) {
    test(title, () => {
      const refusal = readBedrockError(refusedWith(status, `${type}:http://internal/`, message));
      expect(refusal).toMatchObject({ about, type, message, retryAfterMs: null });
    });
  }

  test("a model's own error is judged by its own status (B60)", () => {
    const about = (originalStatusCode: number) =>
      readBedrockError(refusedWith(424, "ModelErrorException", "m", { originalStatusCode })).about;
    expect([about(429), about(400), about(500)]).toEqual(["busy", "request", "failure"]);
  });

  test("the name may be in the body, and the message's name have a capital (B53)", () => {
    const answer = {
      ...refusedWith(400, "", ""),
      text: '{"__type":"com.amazon#ThrottlingException","Message":"Slow"}',
    };
    expect(readBedrockError(answer)).toMatchObject({ about: "busy", message: "Slow" });
  });

  test("too long an input is told as such (B54)", () => {
    const tooLong = refusedWith(400, "ValidationException", "Input is too long for requested model.");
    expect(readBedrockError(tooLong).contextOverflow).toBe(true);
  });
});

describe("what an operator is advised to do (B11)", () => {
  const advice = (type: string, message: string) =>
    adviseOnBedrock(refusedWith(403, type, message), "nova", "eu-west-1");

  test("about the four ways in which a key is refused", () => {
    expect(advice("ExpiredTokenException", "")).toContain("has expired");
    expect(advice("UnrecognizedClientException", "")).toContain("AWS does not know this key");
    expect(advice("InvalidSignatureException", "")).toContain("check secret_access_key");
    expect(advice("AccessDeniedException", "no access to the model")).toBe(
      'the model "nova" is not enabled in eu-west-1; request access in the Bedrock console, or check the IAM policy',
    );
  });

  test("about IAM, which names an action and not a model", () => {
    const denied =
      "User: arn:aws:iam::123456789012:user/x is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:y";
    expect(advice("AccessDeniedException", denied)).toContain("the IAM policy does not allow");
  });

  test("about a clock that is wrong", () => {
    const late = refusedWith(403, "InvalidSignatureException", "Signature expired");
    expect(adviseOnBedrock(late, "nova", "eu-west-1")).toBe("this machine's clock is wrong; correct it");
    const head = {
      ...late.head,
      get: (name: string) => (name === "date" ? "Thu, 01 Jan 2026 00:07:00 GMT" : late.head.get(name)),
    };
    expect(adviseOnBedrock({ ...late, head }, "nova", "eu-west-1")).toBe(
      "the clock is 7 minutes off (slow); correct it",
    );
  });

  test("about names", () => {
    expect(advice("ResourceNotFoundException", "")).toContain('model "nova" does not exist in eu-west-1');
    expect(advice("ValidationException", "on-demand throughput isn't supported")).toContain(
      "inference profile",
    );
    expect(advice("ValidationException", "model identifier is invalid")).toContain("check upstream_model");
    expect(advice("ValidationException", "something else")).toBeNull();
    expect(advice("SomethingNew", "")).toBeNull();
  });
});

// ——— Where keys are looked for ———

describe("the chain (B10)", () => {
  const host = startProvider();
  beforeEach(() => host.reset());
  afterAll(() => host.stop());

  const folder = newFolder();
  const none: Environment = { HOME: folder, AWS_EC2_METADATA_DISABLED: "true" };
  const issue = (env: Environment) => issueByChain("eu-west-1", env)(AbortSignal.timeout(10_000));
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  const keys = {
    AccessKeyId: "ASIA1",
    SecretAccessKey: "canary-secret",
    Token: "canary-token",
    Expiration: expiration,
  };

  test("the environment comes first", async () => {
    const env = { AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "s", AWS_PROFILE: "other" };
    expect(await issue({ ...none, ...env })).toMatchObject({
      token: { accessKeyId: "AKIA1", secretAccessKey: "s", sessionToken: null },
    });
    expect(host.requests).toHaveLength(0);
  });

  test("a web identity is exchanged at the token service", async () => {
    const file = join(folder, "web-identity");
    writeFileSync(file, "canary-web-token\n");
    const { AccessKeyId, SecretAccessKey, Token } = keys;
    host.script(
      text(
        `<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><SessionToken>${Token}</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>`,
        "text/xml",
      ),
    );
    const env = {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: "arn:aws:iam::1:role/r",
      AWS_ENDPOINT_URL_STS: host.url,
    };
    const { token, lifeMs } = await issue({ ...none, ...env });
    expect(token).toEqual({
      accessKeyId: "ASIA1",
      secretAccessKey: "canary-secret",
      sessionToken: "canary-token",
    });
    expect(lifeMs).toBeGreaterThan(3_000_000);
    const form = new URLSearchParams(host.requests[0]?.text);
    expect(form.get("WebIdentityToken")).toBe("canary-web-token");
    expect(form.get("RoleArn")).toBe("arn:aws:iam::1:role/r");
    host.script(text("<Error/>", "text/xml", { status: 403 }));
    await expect(issue({ ...none, ...env })).rejects.toThrow("returned 403; check the role in AWS_ROLE_ARN");
  });

  test("a container's host is asked with its token, and no stranger is", async () => {
    host.script(json(keys));
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${host.url}/keys`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "canary-container-token",
    };
    expect(await issue({ ...none, ...env })).toMatchObject({ token: { sessionToken: "canary-token" } });
    expect(host.requests[0]?.headers["authorization"]).toBe("canary-container-token");
    const stranger = { ...none, AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/keys" };
    await expect(issue(stranger)).rejects.toThrow("must be https");
  });

  test("the machine's metadata server gives a session, a role and its keys", async () => {
    host.script(({ path }) =>
      path === "/latest/api/token"
        ? text("session-1")
        : path.endsWith("/role-1")
          ? json(keys)
          : text("role-1\n"),
    );
    const env = { HOME: folder, AWS_EC2_METADATA_SERVICE_ENDPOINT: host.url };
    expect(await issue(env)).toMatchObject({ token: { accessKeyId: "ASIA1" } });
    expect(host.requests.map(({ method }) => method)).toEqual(["PUT", "GET", "GET"]);
    expect(host.requests[2]?.headers["x-aws-ec2-metadata-token"]).toBe("session-1");
  });

  test("the profile comes last, and where nothing is found that is said", async () => {
    const file = join(folder, "credentials");
    writeFileSync(
      file,
      "[default]\naws_access_key_id = A\n\n[ other ]\naws_access_key_id=AKIA2\naws_secret_access_key = s2\n",
    );
    const env = { ...none, AWS_SHARED_CREDENTIALS_FILE: file };
    expect(await issue({ ...env, AWS_PROFILE: "other" })).toMatchObject({ token: { accessKeyId: "AKIA2" } });
    await expect(issue(env)).rejects.toThrow("no AWS credentials found");
    await expect(issue(none)).rejects.toThrow("no AWS credentials found");
  });
});
